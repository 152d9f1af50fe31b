"""Scales, the router, the policy's pre-flight and the benchmark, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_SIDE_BY_SIDE = {
    "reward.scales.title": "各行为并列",
    "reward.scales.lead": "权重是按行为内部的差异拟合的，因此每种行为各有自己的原点和尺度。在同"
    "一提示内这无关紧要；跨提示比较奖励的方法则会受到影响。",
    "reward.scales.alike": "各均值相差不超过一个标准差。",
    "reward.scales.apart": "均值相差 {gap}，从 {lowest} 的 {low} 到 {highest} 的 {high}，是通常"
    "标准差的 {ratio} 倍：对跨提示比较的方法，请用 <code>voirdire score --center</code>。",
    "reward.scales.uneven": "{wide} 的奖励离散程度是 {narrow} 的 {ratio} 倍。",
    "reward.scales.figure": "各行为的规则奖励：范围、均值 ± 标准差，以及最好标签与最差标签的均值。",
    "reward.scales.table": "各行为的规则奖励",
    "reward.scales.fold": "尺度表",
    "reward.column.deviation": "标准差",
    "reward.column.lowest": "最低",
    "reward.column.highest": "最高",
    "reward.column.best": "最好标签",
    "reward.column.worst": "最差标签",
    "reward.column.base_deviation": "基础奖励标准差",
    "reward.router.title": "行为分派器",
    "reward.router.lead": "取奖励之前，须先决定提示应得哪种行为。选错了，用的就是错误的权重。",
    "reward.router.right": "对 {prompts}中的 {right} 个，它的选择与所声明的一致（{share}）。",
    "reward.router.unrouted": "对 {prompts}它没有作出选择：这些得不到奖励。",
    "reward.router.cost": "按它的选择，排错的比较占 {routed}；按所声明的行为，占 {error}。",
    "reward.router.worst": "代价最大的错误：{behavior} 用了 {other} 的权重，排错 {error}。",
    "reward.router.confusion": "提示按其行为（行）与所选的行为（列）计数",
    "reward.router.costs": "某行为的比较（行）用各行为的权重（列）时排错的比例",
    "reward.router.cut": "表格太大，本页放不下；JSON 中有。",
    "reward.router.none": "条目没有写明分派的行为，因此没有考察分派器。",
}
_POLICY = {
    "reward.policy.title": "用策略自己的回复预检",
    "reward.policy.lead": "训练之前，对策略所写的一批回复计算奖励：{groups}，共 {responses}，平"
    "均每组 {size} 条。",
    "reward.policy.flat": "{share} 的组内奖励全都相同：在组内作比较的方法从中学不到任何东西。",
    "reward.policy.flat.many": "这超过了一半：请加大每组的数量，换用更难的提示，或提高采样温度。",
    "reward.policy.flat.none": "每一组内的奖励都有差异：每组都能教给它一些东西。",
    "reward.policy.missing": "有 {responses}没有得到奖励。它们怎样处理，由各框架的适配器决定。",
    "reward.policy.ratio": "在组内，规则使奖励离散的程度是基础奖励的 {ratio} 倍（{rules} 对 "
    "{base}）。",
    "reward.policy.ratio.drowned": "相比之下基础奖励几乎不起作用：请加大它的比重，或把它放进差值"
    "里一起拟合。",
    "reward.policy.ratio.drowning": "相比之下规则几乎不起作用：对这样的基础奖励，规则的权重太小。",
    "reward.policy.ratio.even": "两者都没有被对方淹没。",
    "reward.policy.step": "每个训练步有 {responses}，需要 {calls}、{cost}、{seconds}。",
    "reward.policy.cost.unknown": "价格未知",
    "reward.policy.seconds.unknown": "时间未知",
    "reward.policy.calls.unknown": "调用次数未知",
    "reward.policy.free": "不花钱",
    "reward.policy.table": "各行为中策略的奖励",
    "reward.policy.classes": "策略的回复所属的类别，取最可能的一类",
    "reward.policy.fold": "按行为与类别",
    "reward.policy.none": "没有给出策略的回复。训练之前请用 <code>--policy</code> 给出一批：排序"
    "很好的奖励，也可能什么都教不了。",
    "reward.column.flat": "全组相同",
    "reward.column.responses": "回复数",
    "reward.column.groups": "组数",
    "reward.column.class": "类别",
}
_BENCH = {
    "reward.bench.title": "基准测试",
    "reward.bench.lead": "每一对由选中的和被拒的回复组成。准确率是选中的一条得到更高奖励的比例，"
    "平局算一半；0.5 相当于猜测。",
    "reward.bench.overall": "{signal}在 {pairs}中答对 {accuracy}（{level} 区间 {ends}）。",
    "reward.bench.against": "{signal}在 {pairs}中答对 {accuracy}（{level} 区间 {ends}），单用基"
    "础奖励则答对 {base}（{base_ends}）。",
    "reward.bench.table": "各子集的准确率，附 {level} 区间",
    "reward.bench.label": "基准测试的准确率",
    "reward.bench.all": "全部",
    "reward.bench.mean": "各子集的平均",
    "reward.bench.cut": "共 {n} 个子集，这里列出前 {shown} 个；JSON 中有全部。",
    "reward.column.subset": "子集",
    "reward.column.pairs": "对数",
}
PHRASES: dict[str, str] = _SIDE_BY_SIDE | _POLICY | _BENCH
