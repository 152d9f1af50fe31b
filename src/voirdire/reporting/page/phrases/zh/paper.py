"""The paragraph for a paper, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "paper.title": "写进论文",
    "paper.lead": "下面这段可以直接粘贴。请在方括号处填上选择 ε 的理由。",
    "paper.what": "我们采用替代标注员检验（Calderon et al., 2025），考察 {judges} 能否在问题 "
    "{question} 上代替一名人类标注员，数据为 {annotators}标注的 {items}。",
    "paper.design.leave_one_out": "凡标注了至少 {min_items}的标注员轮流离席，以与其余标注员的对齐"
    "程度比较评判员与离席者（{alignment}）。",
    "paper.design.gold": "对每名标注了至少 {min_items}的标注员，以与{others}的对齐程度比较评判员与"
    "该标注员（{alignment}）。",
    "paper.design.expert": "对每名标注了至少 {min_items}的标注员，以与{others}的对齐程度比较评判员"
    "与该标注员（{alignment}）。",
    "paper.null.additive": "对每名标注员，零假设为：评判员的优势概率（对齐程度不逊于对方的条目所占"
    "的比例）比该标注员的低 ε 或更多。",
    "paper.null.multiplicative": "对每名标注员，零假设为：评判员的优势概率（对齐程度不逊于对方的条"
    "目所占的比例）不超过该标注员的 (1 − ε) 倍。",
    "paper.test": "检验方法为{test}，并用 Benjamini-Yekutieli 方法（Benjamini &amp; Yekutieli, "
    "2001）把对多名标注员的错误发现率控制在 q = {q}；胜率 ω 是零假设被拒绝的标注员所占的比例，ω ≥ "
    "0.5 且把失败的调用算作输时仍成立，即为通过。",
    "paper.test.t": "单侧配对 t 检验",
    "paper.test.exact": "基于胜、平、负次数的精确无条件单侧检验",
    "paper.test.clustered": "单侧配对 t 检验，标准误对 {clusters}稳健（Liang &amp; Zeger, 1986）",
    "paper.variant.weights": "各条目按其多数标签频率的倒数加权。",
    "paper.variant.quality": "各标注员按事先已知的质量加权。",
    "paper.variant.normalize.zscore": "每名评分者的分数事先经过标准化。",
    "paper.variant.normalize.rank": "每名评分者的分数事先换成了秩。",
    "paper.variant.superiority": "ε = 0 且以标准答案为参照，因此这是对优于标注员的检验。",
    "paper.margin.one": "差距 ε = {all} 是在查看标签之前定下的，理由是［理由］；事后再选则什么也证"
    "明不了。",
    "paper.margin.many": "差距 ε =［{all} 之一］是在查看标签之前定下的，理由是［理由］；其余各档差"
    "距说明结论的敏感程度。",
    "paper.software": "计算使用 voirdire {version}。",
    "paper.agreement": "标注员之间的 Krippendorff α = {alpha}。",
    "paper.interval.items": "ρ 的区间为偏差校正加速（BCa）自助法区间（对条目重抽样 {n} 次）。",
    "paper.interval.clusters": "ρ 的区间为偏差校正加速（BCa）自助法区间（对聚类重抽样 {n} 次）。",
    "paper.result": "{judge}：ρ = {rho}，标注员自身为 {human}；{rates}。",
    "paper.result.failures": "{judge}：ρ = {rho}，标注员自身为 {human}；{rates}；以上数字不计 "
    "{failures}。",
    "paper.result.passed": "ε = {epsilon} 时 ω = {omega}（{annotators} 名中的 {won} 名，通过）",
    "paper.result.failed": "ε = {epsilon} 时 ω = {omega}（{annotators} 名中的 {won} 名，未通过）",
    "paper.result.no_evidence": "ε = {epsilon} 时 ω = {omega}（{annotators} 名中的 {won} 名，证据"
    "不足）",
    "paper.result.series": "ε = {epsilons} 时 ω 依次为 {omegas}，在 {passing} 时通过",
    "paper.result.series.none": "ε = {epsilons} 时 ω 依次为 {omegas}，均未通过",
    "paper.result.more": "另外 {n} 的数字见补充材料。",
    "paper.controls": "在 ε = {epsilon} 的同一检验下，永远回答{label}的评判员 ω = {constant}，随机"
    "标签 ω = {random}，多数票 ω = {majority}。",
    "paper.controls.none": "没有运行对照。",
    "reference.calderon": "N. Calderon, R. Reichart and R. Dror (2025). The Alternative Annotator "
    "Test for LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs. "
    "<cite>ACL 2025</cite>. arXiv:2501.10970.",
    "reference.benjamini": "Y. Benjamini and D. Yekutieli (2001). The control of the false "
    "discovery rate in multiple testing under dependency. <cite>The Annals of Statistics</cite> "
    "29(4), 1165–1188.",
    "reference.liang": "K.-Y. Liang and S. L. Zeger (1986). Longitudinal data analysis using "
    "generalized linear models. <cite>Biometrika</cite> 73(1), 13–22.",
}
