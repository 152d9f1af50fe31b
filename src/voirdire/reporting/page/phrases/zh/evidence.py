"""What the verdict rests on, differences between judges, and the diagnosis, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_EVIDENCE = {
    "rests.title": "依据：人与人之间有多一致",
    "agreement.alpha": "标注员之间的 Krippendorff α 为 {alpha}：<b>{word}</b>。",
    "agreement.none": "没有适用于这个问题的标注员一致性系数。",
    "agreement.undefined": "这批标签上，标注员之间的一致性无定义。",
    "agreement.matrix": "任意两名评分者之间",
    "agreement.word.strong": "高度一致",
    "agreement.word.fair": "较为一致",
    "agreement.word.moderate": "中等一致",
    "agreement.word.weak": "一致性弱",
    "agreement.word.hardly": "几乎没有共识",
    "agreement.means.strong": "人是一把可靠的尺子。",
    "agreement.means.fair": "人是一把可用的尺子，但在一些条目上看法不同。",
    "agreement.means.moderate": "人们在相当一部分条目上看法不同；只能用他们的共识来要求评判员。",
    "agreement.means.weak": "人们在许多条目上看法不同：比随机猜测好不了多少的评判员，与他们的接近"
    "程度也可能不亚于他们彼此。在依据“通过”行事之前，先把标注说明写清楚，或请训练更好的标注员。",
    "agreement.means.hardly": "几乎没有什么可以用来要求评判员。在考察任何评判员之前，先把所问的问"
    "题写清楚。",
    "ceiling.row": "标注员之间",
    "table.ceiling": "各评判员与标注员的一致程度，第一行是人类上限",
    "table.ceiling.label": "一致程度与人类上限",
    "coefficient.raw_agreement": "原始一致率",
    "coefficient.cohen_kappa": "Cohen κ",
    "coefficient.gwet_ac": "Gwet AC",
    "coefficient.majority_agreement": "与其余人的多数一致（留出一名）",
    "coefficient.majority_kappa": "与其余人多数的 κ（留出一名）",
    "coefficient.panel_majority_kappa": "与全体多数的 κ",
    "bar.title": "为什么固定门槛会误导",
    "bar.judge": "{judge}（κ = {kappa}，ε = {epsilon}）",
    "bar.judge.majority": "{judge}（与单名标注员 κ = {kappa}，与他们的多数 κ = {majority}，ε = "
    "{epsilon}）",
    "bar.passed.one": "按常用的门槛 κ ≥ {bar}，会淘汰一个通过检验的评判员：{judges}。",
    "bar.passed.many": "按常用的门槛 κ ≥ {bar}，会淘汰通过检验的评判员：{judges}。",
    "bar.weights": "这里的 κ 采用{weights}。",
    "bar.passed.low": "可是标注员彼此之间也只有 κ = {human}：按这个门槛，他们自己也不合格；而检验"
    "只要求评判员在允许差距之内接近他们。",
    "bar.passed.high": "标注员彼此之间的 κ = {human}；检验要求评判员在因其成本低而接受的差距之内接"
    "近他们。",
    "bar.failed.one": "按常用的门槛 κ ≥ {bar}，会接受一个未能证明合格的评判员：{judges}。",
    "bar.failed.many": "按常用的门槛 κ ≥ {bar}，会接受未能证明合格的评判员：{judges}。",
    "bar.failed.low": "标注员彼此之间的 κ = {human}；但在允许差距之内，未能证明评判员足够接近。",
    "bar.failed.high": "可是标注员彼此之间的 κ = {human}：用这样的评判员取代他们，可能损失这个门槛"
    "看不到的质量。",
    "bar.close.one": "{judges} 与他们的接近程度，和他们彼此之间差不多。",
    "bar.close.many": "{judges} 与他们的接近程度，和他们彼此之间差不多。",
    "bar.far.one": "{judges} 离他们更远（κ 低 0.1 以上），是因为差距放得宽才通过：这时该问的是，这"
    "么宽的差距是否划算。",
    "bar.far.many": "{judges} 离他们更远（κ 低 0.1 以上），是因为差距放得宽才通过：这时该问的是，"
    "这么宽的差距是否划算。",
    "bar.why": "固定门槛拿评判员与理想相比；本检验拿它与它要取代的人相比。",
    "controls.title": "一无所知的评判员和多数票会得到什么",
    "controls.lead": "三个对照接受同样的检验。如果一无所知的对照也能通过，那么通过就不说明任何问题"
    "。",
    "controls.none": "没有运行对照：永远只给同一个答案的评判员是否也能通过，不得而知。",
    "controls.differ": "各评判员回答的条目不尽相同；每个对照都取最能说明问题的情形：一无所知的取其"
    "最好，多数票取其最差。",
    "control.constant.fails": "永远回答{label}的评判员不通过，即使 ε = {epsilon} 也不行（ω = "
    "{omega}，ρ = {rho}）。这个 ρ 就是对条目一无所知时所能得到的。",
    "control.constant.passes": "<b>永远回答{label}的评判员在 ε = {passing} 时也通过</b>（ε = "
    "{epsilon} 时 ω = {omega}，ρ = {rho}）。此时通过对任何评判员都不说明问题，因此没有一个结论是“"
    "通过”。",
    "control.constant.undefined": "永远回答{label}的评判员会得到什么，在这里无定义。",
    "control.random.fails": "按人们使用各标签的频率随机作答的评判员不通过，即使 ε = {epsilon} 也不"
    "行（ω = {omega}，ρ = {rho}）。",
    "control.random.passes": "<b>随机作答的评判员在 ε = {passing} 时也通过</b>（ε = {epsilon} 时"
    " ω = {omega}，ρ = {rho}）。此时不必了解条目就能通过。",
    "control.random.undefined": "随机作答的评判员会得到什么，在这里无定义。",
    "control.majority_vote.passes": "标注员自己的多数票在 ε = {passing} 时通过（ε = {epsilon} 时"
    " ω = {omega}，ρ = {rho}）：足够好的评判员是能够通过这一检验的。",
    "control.majority_vote.fails": "<b>标注员的多数票不通过</b>（ε = {epsilon} 时 ω = {omega}，ρ "
    "= {rho}）：与他们的多数一样好的评判员，用这批标签也无法证明合格，需要更多条目。",
    "control.majority_vote.fails.reference": "标注员的多数票不通过（ε = {epsilon} 时 ω = {omega}，"
    "ρ = {rho}）。",
    "control.majority_vote.undefined": "标注员的多数票会得到什么，在这里无定义。",
    "control.name.constant": "总是 {label}",
    "control.name.random": "随机作答",
    "control.name.majority_vote": "多数票",
    "control.alarm": "这个对照也通过",
    "differences.title": "评判员之间的差别",
    "differences.counted": "在评判员两两组成的 {pairs} 中，有 {clear} 对的 ρ 差别超出偶然（Holm 校"
    "正后 p &lt; 0.05）。",
    "differences.nobody": "在评判员两两组成的 {pairs} 中，没有一对的 ρ 差别超出偶然（Holm 校正后"
    " p &lt; 0.05）。不要把评判员的先后当作排名。",
    "differences.alone": "ρ 最高的 {best} 领先其余每一个评判员，且都超出偶然。",
    "differences.rivals": "{best} 的 ρ 最高，但与下列评判员分不出高下：{rivals}。",
    "differences.one_clear": "{better} 比 {worse} 更接近标注员：ρ 高出 {difference}（{level} 区间 "
    "{interval}，{p}）。",
    "differences.one_unclear": "{better} 与 {worse} 分不出高下：ρ 相差 {difference}（{level} 区间 "
    "{interval}，{p}）。",
    "differences.one_undefined": "{better} 与 {worse} 无法比较：{reason}。",
    "differences.table": "{n}评判员的表格",
    "table.differences": "两者都回答的条目上，A 的 ρ 减 B 的 ρ，附 {level} 区间；差别最明显的在前",
}
_DIAGNOSIS = {
    "diagnosis.title": "诊断：问题出在哪里",
    "diagnosis.annotators": "偏离他人的标注员",
    "diagnosis.judges": "逐个评判员",
    "diagnosis.judges.lead": "在众人一致的条目上偏离他们，比在众说纷纭的条目上偏离更严重。衡量的尺"
    "度是：其余的人一致时，一名标注员与他们相左的频率。",
    "diagnosis.undrawn": "只为前 {n} 个评判员绘制混淆矩阵与切片图，其余的见 JSON。",
    "diagnosis.cut": "其余 {n} 的诊断在 JSON 中。",
    "outlier.nobody": "没有偏离他人的标注员：每个人与其他人的一致程度，和其他人彼此之间差不多。",
    "outlier.nobody.tested": "在能够检验的标注员中，没有一名偏离他人：每个人与其他人的一致程度，和"
    "其他人彼此之间差不多。",
    "outlier.untested": "至少要有三名标注员标注同一批条目，才能判断谁偏离他人。",
    "outlier.some": "{annotators}中有 {n} 名无法检验：须与至少另外两名标注过同一批条目。",
    "outlier.one": "{annotator} 偏离他人：与其他人的一致程度为 {agreement}，而其他人彼此之间为 "
    "{others}（{p}）。",
    "outlier.todo": "在相信结论之前，先看看这名标注员的标签。粗心的标注员会让任何评判员更容易通过"
    "；不过，粗心的人群中唯一细心的人也会偏离他人。",
    "outlier.table": "每名标注员与其他人",
    "table.outliers": "每名标注员与其他人的一致程度，以及其他人彼此之间的一致程度",
    "panel.unanimous": "在全体标注员一致的 {items}中，它有 {against} 个与他们不同（{share}）。",
    "panel.yardstick.more": "其余的人一致时，它与他们相左的情形占 {judge}，标注员占 {human}：请先"
    "看这些条目。",
    "panel.yardstick.alike": "其余的人一致时，它与他们相左的情形占 {judge}，标注员占 {human}。",
    "panel.yardstick.less": "其余的人一致时，它与他们相左的情形占 {judge}，标注员占 {human}：并不"
    "比人更常见。",
    "panel.split.known": "在人们意见不一的 {items}中，它有 {follows} 个给出最多人选的标签，其余的"
    "也总有人选。",
    "panel.split": "在人们意见不一的 {items}中，它有 {follows} 个给出最多人选的标签，有 {nobody} "
    "个给出没有人选的标签。",
    "slices.nowhere": "在 {slices}中，没有一个让它比在其余条目上更落后于标注员且超出偶然。",
    "slices.one": "{column} = {value}（差 {difference}，{p}）",
    "slices.worse": "与别处相比，它在下列切片上更落后于标注员：{slices}。",
    "slices.todo": "这些条目继续由人来标注；或者在那里改进评判员，再用新的标签重新考察。",
    "table.opposed": "它与全体一致的标注员相左的 {n}中的前 {shown} 个",
    "table.opposed.label": "评判员与全体标注员相左的条目",
}
PHRASES: dict[str, str] = _EVIDENCE | _DIAGNOSIS
