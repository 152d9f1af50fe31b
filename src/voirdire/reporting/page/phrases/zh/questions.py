"""A question: its kind, alignment and margins, and the columns of tables, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "question.fold": "允许差距、一致程度、对照，以及评判员错在哪里",
    "question.title": "问题：{question}",
    "question.labels": "标注员给出的标签：",
    "question.labels.more": "另有 {n} 种较少见的标签",
    "question.undrawn": "只为前面的问题绘图；JSON 中有全部问题的数字。",
    "kind.boolean": "真或假",
    "kind.choice": "单选",
    "kind.multilabel": "一组标签",
    "kind.scale": "量表上的分数",
    "kind.text": "自由文本",
    "alignment.accuracy": "{name}：其余标注员中给出相同标签的比例",
    "alignment.neg_rmse": "{name}：与其余标注员分数的均方根距离，取负",
    "alignment.similarity": "{name}：与其余标注员文本的平均相似度",
    "alignment.jaccard": "{name}：与其余标注员标签集合的平均重合度",
    "alignment.jaccard_macro": "{name}：给出与未给出的标签，与其余标注员的平均重合度",
    "alignment.jaccard_slots": "{name}：与其余标注员标签集合的重合度，未给出的标签另占一格",
    "alignment.hamming": "{name}：与其余标注员取舍相同的标签所占的比例",
    "alignment.accuracy.reference": "{name}：标签是否与参照一致",
    "alignment.neg_rmse.reference": "{name}：与参照分数的距离，取负",
    "alignment.similarity.reference": "{name}：与参照文本的相似度",
    "alignment.jaccard.reference": "{name}：与参照标签集合的重合度",
    "alignment.jaccard_macro.reference": "{name}：给出与未给出的标签，与参照的重合度",
    "alignment.jaccard_slots.reference": "{name}：与参照标签集合的重合度，未给出的标签另占一格",
    "alignment.hamming.reference": "{name}：与参照取舍相同的标签所占的比例",
    "alignment.own": "{name}：用户自定义的函数",
    "margins.title": "结论有多依赖允许差距",
    "margins.lead": "胜率 ω 是在给定差距下评判员能够不逊于其表现的标注员所占的比例，达到 0.5、且把"
    "失败的调用算作输时仍达到，即为通过。优势概率 ρ 是评判员与其余标注员的接近程度不低于被留出的标"
    "注员的条目所占的比例；它只用来排序，不决定结论。“标注员的 ρ”是标注员自己的同一数字。",
    "margins.lead.reference": "胜率 ω 是在给定差距下评判员能够不逊于其表现的标注员所占的比例，达到"
    " 0.5、且把失败的调用算作输时仍达到，即为通过。优势概率 ρ 是评判员与参照标签的接近程度不低于标"
    "注员的条目所占的比例；它只用来排序，不决定结论。“标注员的 ρ”是标注员自己的同一数字。",
    "margins.multiplicative": "差距按比例计：评判员的优势须超过标注员优势的 (1 − ε) 倍。",
    "figure.winning_rate": "胜率 ω 随允许差距 ε 的变化。达到 0.5 的线表示通过；在考察范围内穿过"
    " 0.5 的线，表示结论取决于差距的大小。",
    "figure.winning_rate.failures": "胜率 ω 随允许差距 ε 的变化，不计失败的调用。达到 0.5、且把失"
    "败的调用算作输时 ω 也达到 0.5，才是通过；在考察范围内穿过 0.5 的线，表示结论取决于差距的大小"
    "。",
    "figure.advantage": "优势概率 ρ 及其区间，旁边是标注员自身的优势。",
    "figure.scatter": "每个点是一名标注员：横轴是评判员、纵轴是该标注员与其余标注员的接近程度不逊"
    "于对方的比例。在线上，两者不相上下。线的下方，评判员至少与人一样好；线上方的带状区域内，它差"
    "一些，但差距小于 ε；超出这条带，差距超过 ε。实心点表示超出偶然地不逊于该标注员。",
    "figure.scatter.reference": "每个点是一名标注员：横轴是评判员、纵轴是该标注员与参照标签的接近"
    "程度不逊于对方的比例。在线上，两者不相上下。线的下方，评判员至少与人一样好；线上方的带状区域"
    "内，它差一些，但差距小于 ε；超出这条带，差距超过 ε。实心点表示超出偶然地不逊于该标注员。",
    "figure.scatter.fold": "逐名标注员",
    "figure.ceiling": "各评判员与标注员的一致程度，旁边是标注员彼此之间的一致程度：这是人所达到的"
    "，并不是所能达到的上限。",
    "figure.agreement": "任意两名评分者之间的 Cohen κ，标注员在前。融入得好的评判员，看上去就像标"
    "注员中的一行。",
    "figure.confusion.sets": "逐个标签：双方都给出、只有评判员给出、只有标注员给出的次数。",
    "figure.confusion": "行：标注员的回答。列：评判员对同一批条目的回答。",
    "figure.slices": "它在每个切片上对标注员的领先，减去在其余条目上的领先；在 0 的左边，它在该切"
    "片上更差。",
    "table.omega": "各评判员在各档差距下的 ω（✓ 通过，✗ 未通过，? 证据不足；! 对照也通过），按 ρ "
    "从高到低。",
    "table.omega.failures": "ω 不计失败的调用；把它们算作输时 ω 也须达到 0.5，才是通过。",
    "table.omega.smallest": "最小 ε 后有问号的，所在之处这批标签说明不了问题：那里 ω 会达到 0.5，"
    "但不算通过。",
    "table.omega.controls": "对照取最能说明问题的一种情形：一无所知的对照取表现最好的评判员条目集"
    "，多数票取表现最差的。",
    "table.omega.stability": "括号内是评判员通过的重抽样所占的比例，仅在 10% 与 90% 之间时列出：此"
    "时结论取决于抽到的条目。",
    "table.omega.label": "各评判员在各档差距下的胜率",
    "table.cut.judges": "按 ρ 从高到低列出 {n} 中的前 {shown} 个；JSON 中有全部 {n}。",
    "table.cut.margins": "列出 {n} 档差距中最小的 {shown} 档；JSON 中有全部 {n} 档。",
    "table.cut.warnings": "列出 {n}中的前 {shown} 条；JSON 中有全部 {n}。",
    "cell.stability": "（{share}）",
    "weights.linear": "线性加权",
    "weights.quadratic": "二次加权",
    "weights.jaccard": "Jaccard 加权",
    "column.judge": "评判员",
    "column.annotator": "标注员",
    "column.annotators": "标注员数",
    "column.rater": "评分者",
    "column.items": "条目数",
    "column.question": "问题",
    "column.alignment": "对齐方式",
    "column.outcome": "结论",
    "column.omega_at": "ω，ε =",
    "column.rho": "ρ",
    "column.rho_human": "标注员的 ρ",
    "column.rho_f": "ρᶠ",
    "column.rho_h": "ρʰ",
    "column.rho_a": "A 的 ρ",
    "column.rho_b": "B 的 ρ",
    "column.smallest": "最小 ε",
    "column.failed_calls": "失败调用",
    "column.difference": "差",
    "column.interval": "区间",
    "column.p": "p",
    "column.p_at": "ε = {epsilon} 的 p",
    "column.p_holm": "p（Holm）",
    "column.beyond": "超出偶然",
    "column.agreement": "与其他人一致",
    "column.agreement_of_others": "其他人之间",
    "column.apart": "偏离他人",
    "column.panel": "全体标注员",
    "column.judge_label": "评判员的标签",
    "column.omega_bh": "ω（BH）",
    "column.omega_worst": "ω，失败算输",
    "column.rho_worst": "ρ，失败算输",
    "column.omega_pooled": "ω，合并校正",
    "column.omega_alone": "ω，单独校正",
    "column.stability": "稳定性",
    "column.tests": "检验数",
    "column.count": "标签数",
    "column.wins_ties_losses": "胜/平/负",
    "column.error": "标准误",
    "column.df": "自由度",
}
