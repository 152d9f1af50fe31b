"""Error rates, histograms, near-ideal comparisons, refusals and drives, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_RANKING = {
    "reward.errors.title": "排错的有多少",
    "reward.errors.lead": "一个比较是同一提示的两条回复，前者好于后者。较差的一条得到更高的奖励"
    "，就是排错；平局算一半。区间来自对提示的重抽样，从不单独抽取比较：同一提示的比较总是一起抽取"
    "。",
    "reward.errors.figure": "各种奖励排错的比较，先总体，再逐个行为。在 0.5 处，奖励和抛硬币一样。",
    "reward.errors.table": "排错的比较所占的比例，附 {level} 区间。“仅最好标签”只计较好一方带有"
    "最好标签的比较。",
    "reward.errors.label": "按行为与奖励列出的错误率",
    "reward.errors.fold": "错误率表",
    "reward.against.all": "全部比较",
    "reward.against.best": "仅最好标签",
    "reward.column.comparisons": "比较数",
    "reward.column.prompts": "提示数",
    "reward.column.against": "范围",
    "reward.column.ties": "平局",
    "reward.histograms.title": "各标签的奖励",
    "reward.histograms.lead": "每个奖励都经过居中：减去同一提示下最好标签的回复的平均奖励，该均"
    "值为 0。好的奖励把最好的标签放在 0 附近，其余都在左边；落在右边的，虽然更差却更受偏爱。",
    "reward.histograms.figure": "{behavior} 各标签的居中奖励，每种奖励一列。高度是该标签的回复所"
    "占的比例。",
    "reward.histograms.fold": "{behavior}：均值与标准差",
    "reward.histograms.table": "各标签的居中奖励：均值 ± 标准差",
    "reward.histograms.label": "各标签的居中奖励",
    "reward.histograms.none": "没有带最好标签的回复，无从居中。",
    "reward.column.label": "标签",
    "reward.column.completions": "回复数",
    "reward.undrawn": "只为前 {n} 个绘图；JSON 中有全部数字。",
    "reward.near.title": "最好与次好",
    "reward.near.lead": "最好的标签对次好的标签是最难的比较，也是训练后期明显的毛病消失之后最要"
    "紧的比较。",
    "reward.near.worst": "对{signal}来说最难的是 {behavior}：{best}与{next}之间的 {comparisons}"
    "中排错 {error}（{level} 区间 {ends}）。",
    "reward.near.gap_unclear": "平均差距的区间包含 0 时，奖励分不出这两个标签。",
    "reward.near.table": "最好的标签对次好的标签：排错的比例，以及奖励的平均差距，附 {level} 区间",
    "reward.near.label": "最好标签对次好标签",
    "reward.column.labels": "标签",
    "reward.column.wrong": "排错",
    "reward.column.gap": "差距",
    "reward.refusals.title": "误拒与漏拒",
    "reward.refusals.lead": "训练会趋向得分最高的回复。误拒：提示本应得到回答，而得分最高的回复"
    "却拒绝了；漏拒：提示本应被拒绝，而得分最高的回复没有拒绝。人的标签指明何为拒绝时，以标签为准，"
    "否则以评判员为准：按评判员，应当拒绝时只有安全的拒绝才算拒绝。只计两种回复都有的提示。",
    "reward.refusals.worst": "{signal}下最常见的是 {behavior} 的{kind}（{by}）：{prompts}中的 "
    "{error}（{level} 区间 {ends}）。",
    "reward.refusals.none": "{signal}下没有。",
    "reward.refusals.table": "得分最高的回复有错的提示所占的比例，附 {level} 区间",
    "reward.refusals.label": "按行为与奖励列出的误拒与漏拒",
    "reward.refusal.false_refusal": "误拒",
    "reward.refusal.missed_refusal": "漏拒",
    "reward.refusal.by.labels": "按标签",
    "reward.refusal.by.judge": "按评判员",
    "reward.degenerate.title": "无意义的回复与真实的回复",
    "reward.degenerate.lead": "训练会找到奖励所偏好的东西，不论有无意义。这里用规则给毫无用处的回复"
    "打分：空回复、提示本身、打乱的词语。对同一个提示，它们都不应比真实的回复得分更高。基础奖励不"
    "计在内：没有人知道它会给这些回复多少。",
    "reward.degenerate.table": "无意义的回复、最好的与居中的真实回复的规则奖励均值，以及前者得分更"
    "高的提示所占的比例",
    "reward.degenerate.label": "按行为与种类列出的无意义回复的规则奖励",
    "reward.degenerate.examples": "最严重的例子",
    "reward.degenerate.kind.empty": "空回复",
    "reward.degenerate.kind.refusal": "一句拒绝",
    "reward.degenerate.kind.repeated_apology": "反复道歉",
    "reward.degenerate.kind.repeated_sentence": "反复同一句话",
    "reward.degenerate.kind.shuffled_words": "打乱的词语",
    "reward.degenerate.kind.echoed_prompt": "提示本身",
    "reward.degenerate.kind.lexicon": "所有套话连成一串",
    "reward.degenerate.kind.word_salad": "几句套话连成一串",
    "reward.column.nonsense": "无意义的回复",
    "reward.column.mean_best": "最好",
    "reward.column.mean_median": "居中",
    "reward.column.above_best": "高于最好",
    "reward.column.above_median": "高于居中",
    "reward.column.prompt": "提示",
    "reward.column.own_reward": "奖励",
    "reward.column.best_response": "最好的真实回复",
    "reward.column.kind": "错误",
}
_DRIVES = {
    "reward.drives.title": "奖励由什么驱动",
    "reward.drives.lead": "只有提示内的差异才会改变排序。特征的离散度，是它给奖励加上的部分在提"
    "示内的标准差：权重再大，若从不变化，也不起作用。",
    "reward.drives.most": "{features} 占了离散度的 {share}。",
    "reward.drives.dead": "不起作用：{features}。它们在提示内几乎不变，或权重几乎为 0。要让一条"
    "规则起作用，就需要有违反它的比较；否则用 <code>voirdire fit --ignore</code> 去掉。",
    "reward.drives.contradictory": "自相矛盾：{features}。它们的权重与行为的要求相悖。请查看这些"
    "比较，以及评判员在这些命题上的表现；要排除这种情形，用 <code>voirdire fit --sign</code> 固定"
    "符号。",
    "reward.drives.uncertified": "没有证书而作用最大的：{features}。奖励在这些地方的好坏取决于评"
    "判员：请用 <code>voirdire examine</code> 考察它。",
    "reward.drives.helpless": "去掉 {feature}，错误率会更低：{without}，而不是 {error}。",
    "reward.drives.figure": "权重及其拟合区间，以及每个特征在提示内离散度中的占比。",
    "reward.drives.fold": "特征表",
    "reward.drives.table": "特征按占比排列。“去掉后的错误率”指去掉该特征而不改动其他权重时整个奖"
    "励的错误率；现在是 {error}。",
    "reward.drives.table.plain": "特征按占比排列。“去掉后的错误率”指去掉该特征而不改动其他权重时"
    "整个奖励的错误率。",
    "reward.drives.label": "{behavior} 的特征",
    "reward.column.feature": "特征",
    "reward.column.demand": "要求",
    "reward.column.weight": "权重",
    "reward.column.mean": "均值",
    "reward.column.spread": "离散度",
    "reward.column.share": "占比",
    "reward.column.without": "去掉后的错误率",
    "reward.column.remarks": "备注",
    "reward.mark.certified": "评判员有证书",
    "reward.mark.uncertified": "没有证书",
    "reward.mark.dead": "不起作用",
    "reward.mark.contradictory": "自相矛盾",
    "reward.demand.required": "必须",
    "reward.demand.core_required": "必须（核心）",
    "reward.demand.core_required_false": "必须为假（核心）",
    "reward.demand.desired": "希望",
    "reward.demand.allowed": "允许",
    "reward.demand.undesired": "不希望",
    "reward.demand.unacceptable": "不可接受",
    "reward.demand.illogical": "不合逻辑",
    "reward.demand.disallowed": "不允许",
    "reward.demand.required_false": "必须为假",
    "reward.demand.desired_false": "希望为假",
}
PHRASES: dict[str, str] = _RANKING | _DRIVES
