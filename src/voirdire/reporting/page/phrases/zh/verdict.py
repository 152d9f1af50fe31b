"""The head of the page, counts and verdicts, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "page.title": "评判员能代替标注员吗？",
    "page.title.gold": "评判员与标准答案的接近程度，比得上标注员吗？",
    "page.title.expert": "评判员与专家的接近程度，比得上标注员吗？",
    "page.kicker": "替代标注员检验",
    "page.meta": "考察范围：{judges}，{annotators}，{items}",
    "page.meta.questions": "考察范围：{judges}，{annotators}，{items}，{questions}",
    "page.simulated": "模拟数据：这些标签并非出自任何人或任何模型。数字只用来展示检验的作用，不代"
    "表任何真实模型的水平。",
    "page.simulated.but": "模拟数据：这些标签并非出自任何人；评判员当中只有 {judges} 是真实的。数字"
    "只用来展示检验的作用，难以说明它在其他文本上的水平。",
    "page.simulated.base": "奖励一章里的基础奖励也是模拟的，标签则是写作各回复时预定的等级。",
    "page.reward": "奖励",
    "page.colophon": "由 voirdire {version} 生成。本页没有从别处加载任何内容。页面上的数字经过四舍"
    "五入，完整数字见 <code>examine --json</code>。",
    "figure.with_level": "{value}（{level} 区间 {interval}）",
    "figure.with_interval": "{value}，{level} 区间 {interval}",
}
_COUNTS = {
    "count.judges.one": "{n} 个评判员",
    "count.judges.many": "{n} 个评判员",
    "count.questions.one": "{n} 个问题",
    "count.questions.many": "{n} 个问题",
    "count.labels.one": "{n} 个标签",
    "count.labels.many": "{n} 个标签",
    "count.clusters.one": "{n} 个簇",
    "count.clusters.many": "{n} 个簇",
    "count.failed_calls.one": "{n} 次失败的调用",
    "count.failed_calls.many": "{n} 次失败的调用",
    "count.slices.one": "{n} 个切片",
    "count.slices.many": "{n} 个切片",
    "count.warnings.one": "{n} 条提醒",
    "count.warnings.many": "{n} 条提醒",
}
_VERDICT = {
    "verdict.title": "结论",
    "verdict.lead.gold": "这里以标准答案为准：评判员与标准答案的接近程度，在允许差距 ε 之内，是否"
    "不逊于每一名标注员？至少能与一半标注员相当的评判员，就可以代替其中一名。",
    "verdict.lead.expert": "这里以专家的标签为准：评判员与专家的接近程度，在允许差距 ε 之内，是否"
    "不逊于每一名标注员？至少能与一半标注员相当的评判员，就可以代替其中一名。",
    "verdict.lead.leave_one_out": "依次留出一名标注员：评判员与其余标注员的接近程度，在允许差距 ε "
    "之内，是否不逊于被留出的那一名？至少能与一半标注员相当的评判员，就可以代替其中一名。",
    "verdict.fixed": "<strong>ε 必须事先定好。</strong>它表示：因为评判员便宜，所以允许它比人差多"
    "少。看到哪些评判员通过之后再挑 ε，什么也证明不了；其余各档差距，以及评判员能通过的最小差距，"
    "只用来说明结论对这一选择有多敏感。",
    "verdict.table": "各评判员在各问题上的结论",
    "verdict.table.caption": "一览：各评判员在各问题上的结论",
    "verdict.table.caption.tall": "一览：各问题上的结论",
    "verdict.ranks": "评判员，按 ρ 从高到低",
    "verdict.on": "问题 {question}",
    "verdict.words": "用文字说明这 {n}的结论",
    "verdict.rest": "其余 {n}的结论",
    "verdict.warnings": "据此行动之前，请先看：{n}，各附应对办法",
    "short.passed": "可以代替",
    "short.failed": "尚未证明合格",
    "short.passed.outperforms": "胜出",
    "short.failed.outperforms": "尚未证明胜出",
    "short.no_evidence": "证据不足",
    "short.depends": "ε 不小于 {epsilon} 时可以",
    "short.depends_listed": "ε = {epsilons} 时可以",
    "short.close": "{short}，两可",
    "others.annotators": "其余标注员",
    "others.gold": "标准答案",
    "others.expert": "专家 {name} ",
    "close.additive": "在允许差距 ε = {epsilon} 之下，可以证明它与{others}的接近程度不逊于{won}（"
    "ω = {omega}，ρ = {rho}）",
    "close.multiplicative": "在允许差距 ε = {epsilon}（按各标注员自身优势的比例计）之下，可以证明"
    "它与{others}的接近程度不逊于{won}（ω = {omega}，ρ = {rho}）",
    "close.zero": "不留任何差距，可以证明它与{others}的接近程度胜过{won}（ω = {omega}，ρ = {rho}）",
    "close.none.additive": "在允许差距 ε = {epsilon} 之下，对{anyone}未能证明它与{others}的接近程"
    "度不逊色（ω = {omega}，ρ = {rho}）",
    "close.none.multiplicative": "在允许差距 ε = {epsilon}（按各标注员自身优势的比例计）之下，对"
    "{anyone}未能证明它与{others}的接近程度不逊色（ω = {omega}，ρ = {rho}）",
    "close.none.zero": "不留任何差距，对{anyone}未能证明它更接近{others}（ω = {omega}，ρ = {rho}）",
    "close.lost": "在 ε = {epsilon} 时，不计它的 {failures}则 ω = {omega}，全部算作输则 ω = "
    "{worst}；两者都须达到一半",
    "need.half": "至少需要一半",
    "need.one": "而需要的正是这一名",
    "need.weight": "至少需要一半的权重",
    "won.all": "全部 {annotators}",
    "won.both": "两名标注员",
    "won.some": " {annotators}中的 {won} 名",
    "won.all.reference": "全部 {annotators}",
    "won.both.reference": "两名标注员",
    "won.some.reference": " {annotators}中的 {won} 名",
    "won.only.reference": "唯一的那名标注员",
    "won.weight": "占权重 {omega} 的标注员",
    "anyone.one": "唯一的那名标注员",
    "anyone.both": "两名标注员中的任何一名都",
    "anyone.many": " {annotators}中的任何一名都",
    "anyone.one.reference": "唯一的那名标注员",
    "anyone.both.reference": "两名标注员中的任何一名都",
    "anyone.many.reference": " {annotators}中的任何一名都",
    "won.only": "唯一的那名标注员",
    "close.untested": "没有一名标注员可供检验",
    "verdict.passed": "<strong>{judge} 可以代替其中一名标注员</strong>（问题 {question}）："
    "{close}。",
    "verdict.passed_all": "<strong>{judge} 可以代替其中一名标注员</strong>（问题 {question}），在"
    "考察的每一档差距下都是如此：{close}。",
    "verdict.outperforms": "<strong>{judge} 胜过{won}</strong>（问题 {question}）：{close}。",
    "verdict.depends": "<strong>{judge} 可以代替其中一名标注员</strong>（问题 {question}），"
    "<strong>前提是事先接受了不小于 ε = {epsilon} 的差距</strong>：{close}。",
    "verdict.depends_listed": "<strong>{judge} 可以代替其中一名标注员</strong>（问题 {question}）"
    "，<strong>前提是事先接受的差距为 ε = {all}</strong>：{close}。",
    "verdict.not_at": "在 ε = {epsilons} 时未能证明它合格（ε = {epsilon} 时 ω = {omega}，需要达到"
    "一半）。",
    "verdict.not_at.lost": "在 ε = {epsilons} 时未能证明它合格（ε = {epsilon} 时，不计它的 "
    "{failures}则 ω = {omega}，全部算作输则 ω = {worst}，两者都须达到一半）。",
    "verdict.silent_at": "在 ε = {epsilons} 时这批标签说明不了问题：{reasons}。",
    "verdict.failed": "<strong>未能证明 {judge} 可以代替标注员</strong>（问题 {question}）："
    "{why}。",
    "verdict.failed.outperforms": "<strong>未能证明 {judge} 胜过标注员</strong>（问题 {question}）"
    "：{why}。",
    "verdict.failed_all": "<strong>未能证明 {judge} 可以代替标注员</strong>（问题 {question}），在"
    "考察的任何一档差距下都不行：即使{why}。",
    "verdict.failed_at": "<strong>未能证明 {judge} 可以代替标注员</strong>（问题 {question}，ε = "
    "{all}）：{why}。",
    "verdict.no_evidence": "<strong>关于 {judge} 证据不足</strong>（问题 {question}）：{reasons}。",
    "verdict.no_evidence.labels": "<strong>关于 {judge} 证据不足</strong>（问题 {question}）："
    "{reasons}。这批标签分不清好的评判员和毫无用处的评判员。",
    "verdict.smallest": "它能通过的最小差距：ε = {epsilon}。",
    "verdict.smallest.silent": "从 ε = {epsilon} 起 ω 会达到一半，但在那里这批标签说明不了问题。",
    "verdict.failures": "它有 {n} 次调用失败；即使都算作输，ω 仍为 {worst}。",
    "verdict.failures.lost": "把它的 {failures}全部算作输时 ω = {worst}。",
    "verdict.failures.only": "它有 {n} 次调用失败。",
    "verdict.by": "这是按 {name}（第一种对齐方式）得出的；其余对齐方式见附录。",
    "verdict.close.items": "两可：从这些条目中重新抽取，{share} 的抽样里 ω 达到一半。",
    "verdict.close.items.at": "两可：从这些条目中重新抽取，ε = {epsilon} 时 "
    "{share} 的抽样里 ω 达到一半。",
    "verdict.close.items.two": "两可：从这些条目中重新抽取，ε = {epsilon} 时 "
    "{share} 的抽样里 ω 达到一半，ε = {below} 时 {share_below}。",
    "verdict.close.clusters": "两可：从这些簇中重新抽取，{share} 的抽样里 ω 达到一半。",
    "verdict.close.clusters.at": "两可：从这些簇中重新抽取，ε = {epsilon} 时 "
    "{share} 的抽样里 ω 达到一半。",
    "verdict.close.clusters.two": "两可：从这些簇中重新抽取，ε = {epsilon} 时 "
    "{share} 的抽样里 ω 达到一半，ε = {below} 时 {share_below}。",
    "outcome.passed": "通过",
    "outcome.failed": "未通过",
    "outcome.no_evidence": "证据不足",
}
PHRASES: dict[str, str] = _PAGE | _COUNTS | _VERDICT
