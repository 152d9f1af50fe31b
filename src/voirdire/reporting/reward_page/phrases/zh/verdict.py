"""The head of the page, the verdict and what the reward is, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "reward.page.title": "这个奖励能否正确地给回复排序？",
    "reward.page.kicker": "奖励考察报告",
    "reward.page.meta": "{reward}：在 {prompts}的 {completions}之间的 {comparisons}上考察",
    "reward.page.simulated": "模拟数据：这些回复并非真人或真实模型所写，也没有训练任何模型。图中"
    "数字只说明考察方法，不能说明任何真实模型。",
    "reward.page.colophon": "由 voirdire {version} 生成。本页没有从别处加载任何内容。此处的数字"
    "经过取整；<code>examine-reward --json</code> 有全部位数。",
    "reward.chapter.title": "奖励：{reward}",
    "reward.seconds": "{n} 秒",
    "reward.milliseconds": "{n} 毫秒",
    "reward.minutes": "{n} 分钟",
    "reward.hours": "{n} 小时",
    "reward.dollars": "{n} 美元",
    "reward.dollars.less": "不到 {n} 美元",
    "count.comparisons.one": "{n} 个比较",
    "count.comparisons.many": "{n} 个比较",
    "count.prompts.one": "{n} 个提示",
    "count.prompts.many": "{n} 个提示",
    "count.behaviors.one": "{n} 种行为",
    "count.behaviors.many": "{n} 种行为",
    "count.features.one": "{n} 个特征",
    "count.features.many": "{n} 个特征",
    "count.responses.one": "{n} 条回复",
    "count.responses.many": "{n} 条回复",
    "count.groups.one": "{n} 组",
    "count.groups.many": "{n} 组",
    "count.calls.one": "{n} 次调用",
    "count.calls.many": "{n} 次调用",
    "count.rows.one": "{n} 行",
    "count.rows.many": "{n} 行",
    "reward.signal.base": "基础奖励",
    "reward.signal.total": "基础 + 规则",
    "reward.signal.rules": "仅规则",
    "reward.signal.mid.total": "“基础 + 规则”",
    "reward.signal.mid.rules": "单用规则",
    "reward.all": "全部行为",
    "reward.class": "类别",
}
_VERDICT = {
    "reward.verdict.title": "结论",
    "reward.verdict.lead": "奖励训练模型，靠的是它在两条回复之间更偏爱哪一条。这里用已知孰优孰劣"
    "的比较来检验它：它排错的有多少？加上规则之后，是否比单用基础奖励更好？",
    "reward.verdict.lead.rules": "奖励训练模型，靠的是它在两条回复之间更偏爱哪一条。这里用已知孰"
    "优孰劣的比较来检验它：它排错的有多少？这里没有基础奖励；0.5 相当于随机排序。",
    "reward.verdict.with_base": "<strong>加上规则，奖励排错了 {comparisons}中的 {error}</strong>"
    "（{level} 区间 {ends}）；单用基础奖励时为 {base}（{base_ends}）。",
    "reward.verdict.without_base": "<strong>规则排错了 {comparisons}中的 {error}</strong>（"
    "{level} 区间 {ends}）。",
    "reward.verdict.undefined": "<strong>不知道奖励排得好不好</strong>：考察时没有任何比较。",
    "reward.verdict.helps": "规则有帮助：两个区间不重叠。",
    "reward.verdict.hurts": "规则有害：两个区间不重叠。不要用这个奖励训练。",
    "reward.verdict.unclear": "两个区间重叠：这些比较分不出孰优孰劣。更多提示能分出来；同一批提"
    "示的更多回复则帮助不大。",
    "reward.verdict.better": "这好于随机排序。",
    "reward.verdict.worse": "这还不如随机排序。不要用这个奖励训练。",
    "reward.verdict.chance": "区间包含一半：在这些比较上，未能证明奖励好于随机排序。",
    "reward.verdict.held_out": "这些提示都没有用于拟合。",
    "reward.verdict.not_held_out": "未经检验：这些提示有一部分或全部用于拟合，换别的提示，奖励"
    "排错更多。请用它从未见过的提示来考察。",
    "reward.verdict.held_out_unknown": "不知道这些提示是否用于拟合；若用于拟合，真正的错误率更高。",
    "reward.verdict.uncertified": "在有权重的 {features}中，有 {n} 个的评判员没有有效证书。",
    "reward.verdict.uncertified.all": "有权重的 {features}，其评判员都没有有效证书。",
    "reward.verdict.certified": "有权重的 {features}，其评判员都有有效证书。",
    "reward.short.helps": "规则有帮助",
    "reward.short.hurts": "规则有害",
    "reward.short.unclear": "分不出",
    "reward.short.better": "好于随机",
    "reward.short.worse": "不如随机",
    "reward.short.chance": "不好于随机",
    "reward.short.undefined": "没有比较",
    "reward.short.not_held_out": "{short}，未经检验",
    "reward.short.held_out_unknown": "{short}，可能未经检验",
    "reward.glance.caption": "概览：排错的比较所占的比例，附 {level} 区间。“最好对次好”是其中最"
    "难的。“拒绝”指得分最高的回复该答却拒绝、或该拒绝却没有拒绝的提示。“有证书”指有权重且其评判员"
    "持有效证书的特征数。",
    "reward.glance.label": "各行为的错误率",
    "reward.column.behavior": "行为",
    "reward.column.verdict": "结论",
    "reward.column.best_next": "最好对次好",
    "reward.column.refusals": "拒绝",
    "reward.column.certified": "有证书",
    "reward.cut.behaviors": "共 {n} 种，这里列出前 {shown} 种；JSON 中有全部。",
}
_WHAT = {
    "reward.what.title": "这是怎样的奖励",
    "reward.what.lead": "一条回复的奖励是基础奖励（如果有）加上各特征的加权和。特征是评判员认为"
    "准则中各个命题对这条回复成立的概率，以及这条回复属于各个完成类别的概率。每种行为，即提示应得"
    "的回复方式，各有一组权重。",
    "reward.what.name": "奖励",
    "reward.what.rubric": "准则",
    "reward.what.rubric.versioned": "{name}，版本 {version}",
    "reward.what.judge": "评判员",
    "reward.what.fingerprint": "评判员的指纹",
    "reward.what.orientation": "取向",
    "reward.what.orientation.plain": "plain：命题按其为真的概率计",
    "reward.what.orientation.rule": "rule：行为要求或希望为假的命题，按其为假的概率计",
    "reward.what.orientation.demanded": "demanded：行为不愿其为真的命题，按其为假的概率计",
    "reward.what.fit": "拟合",
    "reward.what.fit.given": "权重由人给定，未经拟合",
    "reward.what.fit.hinge": "对提示内的比较用合页损失",
    "reward.what.fit.logistic": "对提示内的比较用逻辑斯谛损失",
    "reward.what.data": "拟合所用的数据",
    "reward.what.hash": "奖励文件",
    "reward.what.created": "制作时间",
    "reward.what.behaviors": "行为",
    "reward.what.certified": "有证书的特征",
    "reward.what.certified.count": "有权重的 {features}中的 {n} 个",
}
PHRASES: dict[str, str] = _PAGE | _VERDICT | _WHAT
