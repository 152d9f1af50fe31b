"""The head of the page, counts and verdicts, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "page.title": "评判员能代替标注员吗？",
    "page.kicker": "替代标注员检验",
    "page.skip": "直接看结论",
    "page.meta": "考察范围：{judges}，{annotators}，{items}",
    "page.meta.questions": "考察范围：{judges}，{annotators}，{items}，{questions}",
    "page.simulated": "模拟数据：这些标签并非出自任何人或任何模型。数字只用来展示检验的作用，不代"
    "表任何真实模型的水平。",
    "page.contents": "本页内容",
    "page.colophon": "由 voirdire {version} 生成。本页没有从别处加载任何内容。页面上的数字经过四舍"
    "五入，完整数字见 <code>examine --json</code>。",
    "quotes": "“”",
    "list.clause": "；",
    "list.comma": "、",
    "list.and": "{shown}、{last}",
    "list.more": "{shown} 等（另有 {n} 项）",
    "sentence.space": "",
    "interval": "{low}–{high}",
    "interval.negative": "{low} 至 {high}",
    "figure.with_level": "{value}（{level} 区间 {interval}）",
    "figure.with_interval": "{value}，区间 {interval}",
    "yes": "是",
    "no": "否",
}
_COUNTS = {
    "count.annotators.one": "{n} 名标注员",
    "count.annotators.many": "{n} 名标注员",
    "count.judges.one": "{n} 个评判员",
    "count.judges.many": "{n} 个评判员",
    "count.items.one": "{n} 个条目",
    "count.items.many": "{n} 个条目",
    "count.questions.one": "{n} 个问题",
    "count.questions.many": "{n} 个问题",
    "count.labels.one": "{n} 个标签",
    "count.labels.many": "{n} 个标签",
    "count.clusters.one": "{n} 个聚类",
    "count.clusters.many": "{n} 个聚类",
    "count.failed_calls.one": "{n} 次失败的调用",
    "count.failed_calls.many": "{n} 次失败的调用",
    "count.pairs.one": "{n} 对",
    "count.pairs.many": "{n} 对",
    "count.slices.one": "{n} 个切片",
    "count.slices.many": "{n} 个切片",
    "count.warnings.one": "{n} 条提醒",
    "count.warnings.many": "{n} 条提醒",
}
_VERDICT = {
    "verdict.title": "结论",
    "verdict.lead": "让标注员轮流离席：如果由评判员坐上这把椅子，它与其余标注员的接近程度，在允许"
    "差距 ε 之内，是否不逊于离席的那个人？至少能与一半标注员相当的评判员，就可以代替其中一名。",
    "verdict.fixed": "<strong>ε 必须事先定好。</strong>它表示：因为评判员便宜，所以允许它比人差多"
    "少。看到哪些评判员通过之后再挑 ε，什么也证明不了；其余各档差距，以及评判员能通过的最小差距，"
    "只用来说明结论对这一选择有多敏感。",
    "verdict.table": "各评判员在各问题上的结论",
    "verdict.table.caption": "一览：各评判员在各问题上的结论",
    "verdict.ranks": "评判员，从好到差",
    "verdict.on": "问题 {question}",
    "verdict.rest": "其余 {n}的结论",
    "verdict.warnings": "据此行动之前，请先看：{n}，各附应对办法",
    "short.passed": "可以代替",
    "short.failed": "未能证明",
    "short.no_evidence": "证据不足",
    "short.depends": "ε 不小于 {epsilon} 时可以",
    "short.depends_listed": "ε = {epsilons} 时可以",
    "others.annotators": "其余标注员",
    "others.gold": "标准答案",
    "others.expert": "专家 {name}",
    "close.additive": "在允许差距 ε = {epsilon} 之下，与{others}的接近程度不逊于{won}（ω = "
    "{omega}，ρ = {rho}）",
    "close.multiplicative": "在允许差距 ε = {epsilon}（按各标注员自身优势的比例计）之下，与"
    "{others}的接近程度不逊于{won}（ω = {omega}，ρ = {rho}）",
    "close.zero": "不留任何差距，它也比{won}更接近{others}（ω = {omega}，ρ = {rho}）",
    "won.all": "全部 {annotators}",
    "won.some": " {annotators}中的 {won} 名",
    "won.none": "{annotators}中的任何一名",
    "won.only": "唯一的那名标注员",
    "won.not_even": "任何标注员",
    "close.untested": "没有一名标注员可供检验",
    "verdict.passed": "<strong>{judge} 可以代替其中一名标注员</strong>（问题 {question}）："
    "{close}。",
    "verdict.passed_all": "<strong>{judge} 可以代替其中一名标注员</strong>（问题 {question}），在"
    "考察的每一档差距下都是如此：{close}。",
    "verdict.depends": "<strong>{judge} 可以代替其中一名标注员</strong>（问题 {question}），"
    "<strong>前提是事先接受了不小于 ε = {epsilon} 的差距</strong>：{close}。",
    "verdict.depends_listed": "<strong>{judge} 可以代替其中一名标注员</strong>（问题 "
    "{question}），<strong>前提是事先接受的差距为 ε = {all}</strong>：{close}。",
    "verdict.not_at": "在 ε = {epsilons} 时未能证明它合格（ε = {epsilon} 时 ω = {omega}，需要达到"
    "一半）。",
    "verdict.silent_at": "在 ε = {epsilons} 时这批标签说明不了问题：{reasons}。",
    "verdict.failed": "<strong>未能证明 {judge} 可以代替标注员</strong>（问题 {question}）："
    "{close}，而至少需要一半。",
    "verdict.failed_all": "<strong>未能证明 {judge} 可以代替标注员</strong>（问题 {question}），在"
    "考察的任何一档差距下都不行：最宽时{close}，而至少需要一半。",
    "verdict.no_evidence": "<strong>关于 {judge} 证据不足</strong>（问题 {question}）：{reasons}。"
    "这批标签分不清好的评判员和毫无用处的评判员。",
    "verdict.todo": "{what}",
    "verdict.smallest": "它能通过的最小差距：ε = {epsilon}。",
    "verdict.failures": "它有 {failures}；即使都算作输，ω 仍为 {worst}。",
    "verdict.lost_by_failures": "它有 {failures}：不计这些条目时 ω = {omega}，全部算作输时 ω = "
    "{worst}，结论以后者为准。",
    "outcome.passed": "通过",
    "outcome.failed": "未通过",
    "outcome.no_evidence": "证据不足",
}
PHRASES: dict[str, str] = _PAGE | _COUNTS | _VERDICT
