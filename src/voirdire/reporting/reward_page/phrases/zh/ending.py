"""Notes, the paragraph and the table for a paper, the appendix and the glossary, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_NOTES = {
    "reward.notes.title": "用它训练之前须知",
    "reward.notes.none": "除上文所述，没有别的。",
    "reward.notes.more": "另有 {n} 条；JSON 中有全部。",
}
_PAPER = {
    "reward.paper.title": "写进论文",
    "reward.paper.lead": "可以直接粘贴的一段话和一张表。<code>voirdire examine-reward --table"
    "</code> 可把表格写成 Markdown。",
    "reward.paper.fold": "这段话和这张表",
    "reward.paper.what": "本文的奖励是基于规则的奖励（Mu 等，2024）：对每种行为，取评判员（"
    "{judge}）对准则 {rubric} 的各命题与完成类别所给概率的加权和。",
    "reward.paper.what.base": "本文的奖励是基于规则的奖励（Mu 等，2024）：基础奖励加上对每种行为"
    "取评判员（{judge}）对准则 {rubric} 的各命题与完成类别所给概率的加权和。",
    "reward.paper.data": "我们用 {prompts}的 {completions}之间的 {comparisons}考察它，这些提示都"
    "没有用于拟合。",
    "reward.paper.data.used": "我们用 {prompts}的 {completions}之间的 {comparisons}考察它；这些"
    "提示有一部分或全部用于拟合，因此这些数字不是对它的检验。",
    "reward.paper.data.unknown": "我们用 {prompts}的 {completions}之间的 {comparisons}考察它；这"
    "些提示是否用于拟合不得而知。",
    "reward.paper.error": "它排错的比较占 {error}（{level} 区间 {ends}），平局算一半。",
    "reward.paper.error.base": "它排错的比较占 {error}（{level} 区间 {ends}），平局算一半；单用"
    "基础奖励则为 {base}（{base_ends}）。",
    "reward.paper.bench": "在基准测试的 {pairs}中，它偏爱选中回复的占 {accuracy}（{ends}）。",
    "reward.paper.interval": "错误率的区间取对提示作 {n} 次自助重抽样的分位数；若各次全都一致，"
    "则取对提示的精确界。",
    "reward.paper.interval.plain": "区间来自对提示的重抽样。",
    "reward.paper.certified": "在有权重的 {features}中，有 {n} 个的评判员持有替代标注员检验的有"
    "效证书。",
    "reward.paper.software": "计算使用 voirdire {version}。",
    "reward.paper.table": "各种奖励排错的比较所占的比例，附 {level} 区间；“最好/次好”只比较最好"
    "的标签与次好的标签。",
    "reward.paper.table.label": "供论文使用的表格",
    "reward.paper.best_next": "最好/次好",
    "reward.reference.mu": "T. Mu et al. (2024). Rule Based Rewards for Language Model Safety. "
    "<cite>NeurIPS 2024</cite>. arXiv:2411.01111.",
}
_APPENDIX = {
    "reward.appendix.title": "附录",
    "reward.appendix.dropped": "未采用：{n}",
    "reward.appendix.dropped.none": "全部都已采用。",
    "reward.appendix.dropped.label": "按原因列出未采用的行",
    "reward.appendix.dropped.more": "另有 {n} 种原因；JSON 列出了每一行。",
    "reward.appendix.settings": "考察的设置",
    "reward.appendix.reward": "奖励文件",
    "reward.column.count": "行数",
}
_GLOSSARY = {
    "reward.glossary.title": "术语表",
    "reward.glossary.reward.word": "奖励",
    "reward.glossary.reward": "给提示的一条回复打的分数；训练使分数高的回复更可能出现。",
    "reward.glossary.base_reward.word": "基础奖励",
    "reward.glossary.base_reward": "另一个奖励模型给出的分数，例如有用性；规则的部分加在它上面。",
    "reward.glossary.behavior.word": "行为",
    "reward.glossary.behavior": "提示应得的回复方式，例如拒绝或回答。",
    "reward.glossary.completion.word": "回复",
    "reward.glossary.completion": "对提示的一次完成。",
    "reward.glossary.label.word": "标签",
    "reward.glossary.label": "回复在多大程度上符合其行为，从最好的标签依次往下。",
    "reward.glossary.comparison.word": "比较",
    "reward.glossary.comparison": "同一提示的两条回复，前者好于后者。",
    "reward.glossary.proposition.word": "命题",
    "reward.glossary.proposition": "关于回复的一个以真或假来回答的问题。",
    "reward.glossary.feature.word": "特征",
    "reward.glossary.feature": "奖励所加权的数：命题或完成类别的概率。",
    "reward.glossary.weight.word": "权重",
    "reward.glossary.weight": "特征从 0 变到 1 时奖励增加多少。",
    "reward.glossary.error_rate.word": "错误率",
    "reward.glossary.error_rate": "较差的回复得到更高奖励的比较所占的比例，平局算一半。",
    "reward.glossary.centred.word": "居中奖励",
    "reward.glossary.centred": "奖励减去同一提示下最好标签的回复的平均奖励。",
    "reward.glossary.certificate.word": "证书",
    "reward.glossary.certificate": "一次考察的记录，证明评判员可以代替人回答某个问题。只对该评判"
    "员和该准则有效。",
    "reward.glossary.router.word": "分派器",
    "reward.glossary.router": "决定提示应得哪种行为的程序。",
    "reward.glossary.policy.word": "策略",
    "reward.glossary.policy": "被训练的模型。",
    "reward.glossary.interval.word": "区间",
    "reward.glossary.interval": "与数据相容的取值范围，通过多次重新抽取提示得到。",
}
PHRASES: dict[str, str] = _NOTES | _PAPER | _APPENDIX | _GLOSSARY
