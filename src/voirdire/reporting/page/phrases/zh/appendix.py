"""The appendix and the glossary, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "others.title": "换用其他对齐方式",
    "others.lead": "结论以第一种对齐方式为准。其他方式下的同一数字，说明结论是否取决于如何衡量接近"
    "程度。",
    "appendix.title": "附录：全部数字",
    "appendix.lead": "默认折叠；打印时会展开。",
    "appendix.family": "{question}，{alignment}：每个评判员、每档差距、每名标注员",
    "appendix.judges": "按评判员与差距",
    "appendix.judges.label": "按评判员与差距列出的数字",
    "appendix.annotators": "按评判员与标注员。各档差距下是作出决定的检验的 p（✓ 表示在"
    " Benjamini-Yekutieli 之下评判员不逊色；† 表示 Benjamini-Hochberg 的决定不同），其下是精确检验"
    "的 p。",
    "appendix.annotators.label": "按评判员与标注员列出的数字",
    "appendix.pooled": "所有问题共用一个错误发现率",
    "appendix.pooled.lead": "更严格的读法：把所有问题的 p 值放在一起校正。",
    "appendix.dropped": "未采用：{n}",
    "appendix.dropped.label": "按原因列出未采用的标签",
    "appendix.dropped.none": "所有标签都已采用。",
    "appendix.dropped.more": "另有 {n} 种原因；JSON 列出了每一行。",
    "appendix.settings": "设置",
    "glossary.title": "术语表",
    "glossary.alternative_annotator_test.word": "替代标注员检验",
    "glossary.alternative_annotator_test": "检验评判员能否代替一名标注员的统计方法：依次留出一名标"
    "注员，把评判员和被留出的标注员都与其余的人相比；也可以与专家或标准答案相比。",
    "glossary.item.word": "条目",
    "glossary.item": "评判的对象：一段文字，或一个提示及其回复。",
    "glossary.annotator.word": "标注员",
    "glossary.annotator": "给条目打标签的人。",
    "glossary.judge.word": "评判员",
    "glossary.judge": "给条目打标签而又不是标注员的一方：大语言模型、分类器或规则。",
    "glossary.alignment.word": "对齐方式",
    "glossary.alignment": "衡量一名评分者对一个条目的标签与其余标注员（或参照）有多接近的分数。",
    "glossary.epsilon.word": "ε，允许差距",
    "glossary.epsilon": "因为评判员便宜，允许它比标注员差多少而仍能代替。通常取值：标注员是专家时 "
    "0.2，有经验的标注员 0.15，众包 0.1。须在查看标签之前定下。",
    "glossary.advantage_probability.word": "ρ，优势概率",
    "glossary.advantage_probability": "评判员与其余标注员（或参照）的接近程度不低于被比较的标注员"
    "的条目所占的比例，对标注员取平均。它只用来排序，不决定结论。",
    "glossary.winning_rate.word": "ω，胜率",
    "glossary.winning_rate": "对多名标注员校正之后，评判员能够不逊于其表现的标注员所占的比例。达到"
    " 0.5、且把失败的调用算作输时仍达到，即通过。",
    "glossary.outcome.word": "结论",
    "glossary.outcome": "“通过”：ω ≥ 0.5，而且一无所知不足以通过。“未通过”：没能证明足够好，并不等"
    "于证明了不好。“证据不足”：这批标签说明不了问题。",
    "glossary.tie.word": "平局",
    "glossary.tie": "评判员与标注员同样接近其余标注员的条目。对双方都算。",
    "glossary.control.word": "对照",
    "glossary.control": "一无所知（对什么都给同一个标签，或随机给标签）或完全知情（多数票）的评判"
    "员，接受同样的检验。",
    "glossary.ceiling.word": "人类上限",
    "glossary.ceiling": "每名标注员与其他人的一致程度的平均值。这是人所达到的，并不是所能达到的上"
    "限。",
    "glossary.kappa.word": "Cohen κ",
    "glossary.kappa": "两名评分者超出偶然的一致性：0 为偶然，1 为完全一致。",
    "glossary.alpha.word": "Krippendorff α",
    "glossary.alpha": "任意多名评分者超出偶然的一致性，允许缺失标签。",
    "glossary.gwet_ac.word": "Gwet AC",
    "glossary.gwet_ac": "超出偶然的一致性，比 κ 更不受标签分布不均的影响。",
    "glossary.false_discovery_rate.word": "错误发现率",
    "glossary.false_discovery_rate": "在判定评判员不逊色的标注员中，误判所占比例的期望。"
    "Benjamini-Yekutieli 方法在任何相依关系下都把它控制在 q。",
    "glossary.interval.word": "区间",
    "glossary.interval": "与数据相容的取值范围，通过多次重新抽取条目（或簇）得到。",
    "glossary.stability.word": "稳定性",
    "glossary.stability": "在这样的抽取中评判员通过的比例。它不是 p 值，而是同样的决定再次作出的频"
    "率。",
}
