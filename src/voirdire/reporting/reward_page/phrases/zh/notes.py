"""The notes of an examination by their codes, in Chinese; in English they come as sentences."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "reward.note.seen_prompts": "{n_prompts} 个提示中有 {n_seen} 个用于拟合：奖励在这些提示上未"
    "经检验，排错少于在别的提示上。请用别的提示考察。",
    "reward.note.held_out_unknown": "奖励没有说明用哪些提示拟合：若其中包括这里的提示，错误率就"
    "偏低。",
    "reward.note.other_judge": "评判结果出自 {judge}，或所用设置与奖励的评判员不同：数字说明的是"
    "这些权重在该评判员之下的表现，证书对它不作保证。",
    "reward.note.labels_from_classes": "标签就是评判员自己给出的类别：数字说明奖励在多大程度上跟"
    "随评判员，而不能说明评判员是否正确。",
    "reward.note.no_comparisons": "没有关于 {behaviors} 的比较。",
    "reward.note.worse_than_base": "基础加规则比单用基础奖励排错更多：{behaviors}。",
    "reward.note.no_better_than_chance": "奖励并不比抛硬币排得更好：{behaviors}。",
    "reward.note.base_missing": "拟合时有基础奖励，而这些回复没有：这里考察的只是规则。",
    "reward.note.base_not_in_fit": "这些回复有基础奖励，而拟合时没有：权重没有把它考虑在内。",
    "reward.note.degenerate_outranks": "按规则，无意义的回复比同一提示的最好的真实回复得分更高："
    "{cases}。最严重的一例得 {reward}，而最好的真实回复得 {best_reward}。训练会找到这样的回复：请把"
    "它们作为各提示最差的回复加入比较，或换一个评判员。",
    "reward.note.degenerate_not_judged": "没有检查无意义的回复是否比真实的回复得分更高：评判结果取"
    "自存储，而其评判员不在手边。请不用存储的评判结果，并指明评判员，再考察一次。",
    "reward.note.contradictory_features": "有 {n} 个权重与行为的要求相悖：{features}。别的特征或"
    "许弥补了它；拟合时固定符号可以排除这种情形。",
    "reward.note.uncertified": "奖励所依据的 {n} 个命题，其评判员没有有效证书：{propositions}。",
    "reward.note.policy_without_variance": "有 {n} 组（{share}）内没有两个不同的奖励：在组内作比"
    "较的方法从中学不到任何东西。",
    "reward.note.base_drowned": "在组内，规则的变化是基础奖励的 {ratio} 倍：基础奖励几乎不起作用。",
    "reward.note.rules_drowned": "在组内，规则的变化是基础奖励的 {ratio} 倍：规则几乎不起作用。",
    "reward.note.router_cost": "{n_routed} 个提示中，分派器给 {n_wrong} 个选了别的行为，另有 "
    "{n_unrouted} 个没有选择。",
    "reward.note.bench_seen_prompts": "基准测试的 {n_prompts} 个提示中有 {n_seen} 个用于拟合：这里"
    "的准确率偏高。请换用含有别的提示的基准测试。",
    "reward.note.bench_base_missing": "拟合时有基础奖励，而基准测试的各对没有：那里的准确率只属于"
    "规则。",
    "reward.note.bench_missing": "基准测试的 {n_pairs} 对中，有 {n_missing} 对没有奖励（"
    "{n_without_behavior} 对没有行为）；若全部算错，准确率为 {worst_case}。",
    "reward.note.few_prompts": "有比较的提示不足 {least} 个：{prompts}。对这么少的提示重抽样，区"
    "间偏窄。",
    "reward.note.scales_differ": "各行为规则奖励的均值最多相差 {apart}，超过任何一种行为内部的离"
    "散：只在行为内部比较奖励，或先居中。",
    "reward.note.dead_features": "有 {n} 个特征对排序几乎不起作用：{features}。",
    "reward.note.train_left_out": "训练集的 {n} 条回复不计在内：数字取自测试集。",
    "reward.note.policy_missing": "策略的回复中有 {n} 条没有得到奖励。",
    "reward.note.groups_of_one": "平均每个提示只有 {group_size} 条回复：请像训练时那样采样多条。",
    "reward.note.policy_not_timed": "每一步需要多久不得而知：评判结果或答复取自存储。",
    "reward.note.no_labels": "没有一条回复带标签：没有各标签的直方图。",
    "reward.note.no_refusals": "准则中既没有 safe_refusal 也没有 inability_to_comply，标签也没有"
    "指明拒绝：没有统计拒绝。",
    "reward.note.without_best": "有 {n} 个提示带标签却没有最好标签的回复，不在直方图中："
    "{prompts}。",
}
