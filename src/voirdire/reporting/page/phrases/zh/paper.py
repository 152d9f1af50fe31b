"""The paragraph for a paper, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "paper.title": "写进论文",
    "paper.lead": "下面这段可以直接粘贴。请填写方括号：差距 ε 何时定下，理由是什么。",
    "paper.fold": "段落",
    "paper.what": "我们采用替代标注员检验（Calderon et al., 2025），考察 {judges} 能否在问题"
    " {question} 上代替一名人类标注员，数据为 {annotators}标注的 {items}。",
    "paper.answered": "并非每个评判员都回答了全部条目：{judges}。",
    "paper.answered.judge": "{judge} 回答了 {n} 个",
    "paper.design.leave_one_out": "在标注了至少 {min_items}的标注员中依次留出一名，以与其余标注员"
    "的对齐程度比较评判员与被留出的标注员（{alignment}）。",
    "paper.design.gold": "对每名标注了至少 {min_items}的标注员，以与{others}的对齐程度比较评判员与"
    "该标注员（{alignment}）。",
    "paper.design.expert": "对每名标注了至少 {min_items}的标注员，以与{others}的对齐程度比较评判员"
    "与该标注员（{alignment}）。",
    "paper.null.additive": "对每名标注员，零假设为：评判员的优势概率（对齐程度不逊于对方的条目所占"
    "的比例）至少比该标注员的低 ε。",
    "paper.null.multiplicative": "对每名标注员，零假设为：评判员的优势概率（对齐程度不逊于对方的条"
    "目所占的比例）不超过该标注员的 (1 − ε) 倍。",
    "paper.test": "检验方法为{test}，并用 Benjamini-Yekutieli 方法（Benjamini &amp; Yekutieli, "
    "2001）把对多名标注员的错误发现率控制在 q = {q}；胜率 ω 是零假设被拒绝的标注员{share}，不计失"
    "败的调用与把它们算作输时都有 ω ≥ 0.5，即为通过。",
    "paper.share.count": "所占的比例",
    "paper.share.weight": "所占的权重",
    "paper.test.t": "单侧配对 t 检验",
    "paper.test.exact": "基于胜、平、负次数的精确无条件单侧检验",
    "paper.test.clustered": "单侧配对 t 检验，标准误对 {clusters}稳健（Liang &amp; Zeger, 1986）",
    "paper.variant.weights": "各条目按其多数标签频率的倒数加权。",
    "paper.variant.quality": "各标注员按事先已知的质量加权。",
    "paper.variant.normalize.zscore": "每名评分者的分数事先经过标准化。",
    "paper.variant.normalize.rank": "每名评分者的分数事先换成了秩。",
    "paper.variant.superiority": "ε = 0 且以标准答案为参照，因此这是优效性检验（评判员是否优于标注"
    "员）。",
    "paper.margin.one": "差距为 ε = {all}［在查看标签之前定下，理由是……］。",
    "paper.margin.reason": "差距 ε = {all} 在查看标签之前定下：{reason}。",
    "paper.margin.many": "差距为 ε =［{all}］［在查看标签之前定下，理由是……］；其余各档差距说明结"
    "论的敏感程度。",
    "paper.software": "计算使用 voirdire {version}。",
    "paper.agreement": "标注员之间的 Krippendorff α = {alpha}。",
    "paper.interval.alpha": "其区间在 Fisher z 尺度上对称，误差由各条目的贡献估计。",
    "paper.interval.alpha.clusters": "其区间在 Fisher z 尺度上对称，误差由各簇的贡献估计。",
    "paper.interval.items": "ρ 的区间为偏差校正加速（BCa）自助法区间（对条目重抽样 {n} 次），其尾"
    "部按 t 分布比正态分布更宽的程度加宽。",
    "paper.interval.clusters": "ρ 的区间为偏差校正加速（BCa）自助法区间（对簇重抽样 {n} 次），其尾"
    "部按 t 分布比正态分布更宽的程度加宽。",
    "paper.result": "{judge}：ρ = {rho}，标注员自身为 {human}；{rates}。",
    "paper.result.failures": "{judge}：ρ = {rho}，标注员自身为 {human}；{rates}；以上数字不计 "
    "{failures}。",
    "paper.rate": "ε = {epsilon} 时 ω = {omega}（{details}）",
    "paper.won": "{annotators} 名中的 {won} 名",
    "paper.worst": "失败的调用算作输时 ω = {worst}",
    "paper.worst.series": "失败的调用算作输时 ω 依次为 {omegas}",
    "paper.silent": "在 ε = {epsilons} 时证据不足，因为{reasons}",
    "paper.outcome.passed": "通过",
    "paper.outcome.failed": "未通过",
    "paper.outcome.no_evidence": "证据不足",
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
