"""Reasons and cautions: `note`, the same for several figures `topic`, and what `todo`; Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "warnings.title": "哪些因素削弱结论，该怎么办",
    "warnings.none": "没有发现削弱这些数字的因素。",
    "warnings.do": "怎么办：",
    "note": "{what}。",
    "whom": "涉及：{judges}。",
    "whom.at": "{judge}（ε = {epsilons}）",
    "reason.unknown": "原因没有记录",
    "reason.answered": "它只回答了 {items}中的 {n} 个",
    "reason.answered_none": "它没有回答 {items}中的任何一个",
    "dropped.reason": "{n} × {reason}",
    "note.constant_passes": "永远回答{label}的评判员也会通过",
    "note.correction": "结论取决于对多名标注员的校正方法：Benjamini-Yekutieli 之下 ω = {omega}，"
    "Benjamini-Hochberg 之下 ω = {omega_bh}",
    "note.dropped": "有 {rows}被剔除，未予采用：{reasons}",
    "note.failures": "评判员有 {failures}；全部算作输时 ω 为 {omega}，结论以此为准",
    "note.few_annotators": "只有 {annotators}可供检验；不足三名时，胜率说明不了什么",
    "note.few_annotators.none": "没有一名标注员可供检验",
    "note.few_clusters": "条目只来自 {clusters}：为此而设的稳健标准误本身也不稳",
    "note.few_items": "{annotators} 的条目不足 {few} 个（最少的为 {fewest}）：检验的功效很低，未"
    "通过的评判员也可能合格",
    "note.like_constant": "ω 为 {omega}，但未能显示评判员比永远回答{label}更接近标注员（ρ 为 "
    "{mine}，后者为 {theirs}，{p}）",
    "note.many_ties": "对于 {annotators}，评判员与人在超过 {share} 的条目上打成平局：条目少时，t "
    "检验会让评判员过于容易通过",
    "note.missed": "在 {annotators}中，只对 {n} 名显示其差距在 ε = {epsilon} 之内，而需要一半；对"
    " {missed} 名的估计值超出差距",
    "note.missed.constant": "在 {annotators}中，只对 {n} 名显示其差距在 ε = {epsilon} 之内，而需"
    "要一半；对 {missed} 名的估计值超出差距。永远回答{label}的评判员会通过",
    "note.near_margin": "评判员在 ε = {epsilon} 时通过，但低于 ε = {smallest} 就不会通过：结论在"
    "边缘上",
    "note.no_p_values": "p 值无定义，因为标准误至少需要两个簇",
    "note.not_judged": "在有标注的 {items}中，有 {unjudged} 个没有经过评判：结论只适用于其余条目",
    "note.not_shown": "在 {annotators}中，只对 {n} 名显示其差距在 ε = {epsilon} 之内，而需要一半"
    "；对 {within} 名的估计值在差距之内：更多条目可能改变结论",
    "note.not_shown.constant": "在 {annotators}中，只对 {n} 名显示其差距在 ε = {epsilon} 之内，而"
    "需要一半；对 {within} 名的估计值在差距之内：更多条目可能改变结论。永远回答{label}的评判员会"
    "通过",
    "note.one_sided": "按多数意见，两侧分别只有 {one} 个和 {other} 个条目，而每侧至少需要 "
    "{needed} 个",
    "note.random_passes": "随机作答的评判员也会通过",
    "note.shown": "在 {annotators}中，对 {n} 名显示其差距在 ε = {epsilon} 之内，并且比永远回答"
    "{label}更接近他们（ρ 为 {mine}，后者为 {theirs}，{p}）",
    "note.skewed_labels": "标注员的标签有 {share} 都是同一个，即{label}：总是给出它的评判员往往是"
    "对的",
    "note.some_margins": "结论取决于 ε：在考察的差距中，评判员在一些档次上通过，在另一些档次上不"
    "通过",
    "note.strange_annotators": "{annotators} 与其他任何标注员都没有相同的标签",
    "note.strange_labels": "评判员给出了标注员从未用过的标签（例如{mine}与{theirs}）",
    "note.similarity": "结论取决于用什么方法衡量两段文本是否相似",
    "note.undeclared_labels": "没有声明可能的标签有哪些，于是取标注员和评判员用过的全部 {labels}",
    "note.undefined_agreement": "标注员之间的一致性无定义（{reason}）",
    "note.unpassable": "只有 {items}而 ε = {epsilon} 时，连标注员的多数意见也不能显示在差距之内；"
    "总是打成平局的评判员需要 {needed} 个",
    "note.unpassable.unknown": "只有 {items}而 ε = {epsilon} 时，连标注员的多数意见也不能显示在差"
    "距之内",
    "note.unstable": "结果取决于标注了哪些条目：把同样的条目重新抽取，ω 在 {stability} 的抽样中达"
    "到一半；这并不是通过一项新研究的机会",
    "note.unstable.clusters": "结果取决于标注了哪些簇：把同样的簇重新抽取，ω 在 {stability} 的抽"
    "样中达到一半；这并不是通过一项新研究的机会",
    "note.untestable": "没有一名标注员有 {items}可供比较",
    "note.untested_annotators": "每人不足 {items}，未予检验：{annotators}",
    "note.weak_agreement": "标注员之间的一致性可能低至 α = {low}，几乎不高于偶然",
    "note.weak_annotators": "标注员之间的一致性弱（α = {alpha}），而一致性弱的标注员会让差的评判"
    "员通过",
    "topic.constant_passes": "永远只给同一个答案的评判员也会通过",
    "topic.correction": "结论取决于对多名标注员的校正方法（换成 Benjamini-Hochberg，结论就不同）",
    "topic.failures": "评判员有一些调用没有给出答案；结论把它们算作输",
    "topic.few_annotators": "可供检验的标注员不足三名：胜率说明不了什么",
    "topic.few_clusters": "条目只来自少数几个簇：为此而设的稳健标准误本身也不稳",
    "topic.few_items": "一些标注员的条目很少：检验的功效很低，未通过的评判员也可能合格",
    "topic.like_constant": "未能显示评判员比永远只给同一个答案更接近标注员",
    "topic.many_ties": "评判员与人在大多数条目上打成平局：条目少时，t 检验会让评判员过于容易通过",
    "topic.missed": "估计值超出差距",
    "topic.near_margin": "差距再小一点，评判员就不会通过：结论在边缘上",
    "topic.no_p_values": "p 值无定义，因为标准误至少需要两个簇",
    "topic.not_judged": "有标注的条目并非都经过评判：结论只适用于其余条目",
    "topic.not_shown": "估计值在差距之内，但未能显示",
    "topic.one_sided": "两种标签中有一种只在很少的条目上占多数",
    "topic.random_passes": "随机作答的评判员也会通过",
    "topic.shown": "显示在差距之内，并且比任何不变的回答更接近标注员",
    "topic.skewed_labels": "几乎所有标签都是同一个：总是给出它的评判员往往是对的",
    "topic.some_margins": "结论取决于 ε：在考察的差距中，评判员在一些档次上通过，在另一些档次上不"
    "通过",
    "topic.strange_annotators": "有标注员与其他任何人都没有相同的标签",
    "topic.strange_labels": "评判员用了标注员从未用过的标签",
    "topic.similarity": "结论取决于用什么方法衡量两段文本是否相似",
    "topic.undeclared_labels": "没有声明可能的标签有哪些，于是取标注员和评判员用过的全部标签",
    "topic.undefined_agreement": "标注员之间的一致性无定义",
    "topic.unpassable": "条目这么少、差距这么小时，连标注员的多数意见也不会通过",
    "topic.unstable": "换一批同类条目，结论可能不同",
    "topic.untestable": "没有一名标注员有足够的条目可供比较",
    "topic.untested_annotators": "一些标注员的条目太少，未予检验",
    "topic.weak_agreement": "标注员之间的一致性可能几乎不高于偶然",
    "topic.weak_annotators": "标注员之间的一致性弱，而一致性弱的标注员会让差的评判员通过",
    "todo.constant_passes": "事先声明按标签的稀有程度加权（<code>--weights imbalance</code>），或"
    "者多标注一些带稀有标签的条目。",
    "todo.correction": "不要改用能通过的那种校正；请标注更多条目。",
    "todo.dropped": "各种原因首次出现的位置见附录；请改正文件，或声明这些值的含义（<code>"
    "--missing</code>、<code>--kind</code>、<code>--labels</code>），然后重新考察。",
    "todo.failures": "查明这些调用为何失败。如果评判员偏偏在难的条目上失败，那么只有把失败算作输"
    "的数字才适合引用。",
    "todo.few_annotators": "至少请三个人来标注，五个人更好。",
    "todo.few_clusters": "从更多的来源抽取条目，二十个以上为宜；只在原有来源中增加条目没有帮助。",
    "todo.few_items": "先标注更多条目，再断定评判员不合格：每名标注员至少 50 个。需要多少，可用 "
    "<code>voirdire power</code> 计算。",
    "todo.like_constant": "多标注一些带稀有标签的条目，或事先声明按标签的稀有程度加权（<code>"
    "--weights imbalance</code>）。",
    "todo.many_ties": "结论已经以精确检验为准；附录在其他 p 值下方列出了它的 p 值。",
    "todo.near_margin": "报告时说明这一点；如果事关重大，请用新的条目加以确认。",
    "todo.no_p_values": "从至少两个、最好二十个簇中选取条目；如果条目彼此独立，考察时就不要声明簇"
    "。",
    "todo.not_judged": "把其余条目也评判完，或说明它们是按什么规则略去的。",
    "todo.one_sided": "多标注一些带稀有标签的条目，每一侧至少十个。",
    "todo.random_passes": "下一次研究选更小的差距，按标签的稀有程度加权，或标注更多条目；不要依赖"
    "这一次的通过。",
    "todo.skewed_labels": "看看总是给同一标签的对照得到什么。下一次研究，若标签是真假或单选，可事"
    "先声明 <code>--weights imbalance</code>，或多标注一些带稀有标签的条目。",
    "todo.some_margins": "以看标签之前写下的差距为准。如果当时没有写下，现在就定一个，并用新的标"
    "签加以确认。",
    "todo.strange_annotators": "查一查这究竟是不是标注员：文件中的某一列可能被误当作标注员（用 "
    "<code>--rater</code> 指明哪些列才是）。",
    "todo.strange_labels": "查一查评判员与标注员的标签写法是否一致：大小写、空格、“3”与“3.0”。",
    "todo.similarity": "看结果之前先选定衡量方法，并读几对它认为相似和不相似的文本。",
    "todo.undeclared_labels": "声明有哪些标签（<code>--labels</code>），这样数字就不取决于一起考"
    "察的是哪些评判员。",
    "todo.undefined_agreement": "确保每个条目至少有两名标注员，而且出现的标签不止一种。",
    "todo.unknown": "请参阅 voirdire 的文档。",
    "todo.unpassable": "先标注更多条目，再下结论。需要多少，可用 <code>voirdire power</code> 计算"
    "。",
    "todo.unstable": "标注更多同类条目；在此之前，把结论视为未定。",
    "todo.unstable.clusters": "从更多的簇中选取条目来标注；在此之前，把结论视为未定。",
    "todo.untestable": "标注更多条目：每名标注员都需要足够多的、别人也标注过的条目。",
    "todo.untested_annotators": "请他们标注更多条目，或接受结论与他们无关这一事实。",
    "todo.weak_agreement": "把标注说明写清楚，培训标注员，重新标注；不能用彼此没有共识的人来要求"
    "评判员。",
    "todo.weak_annotators": "把标注说明写清楚，或按事先已知的质量给标注员加权（<code>--quality"
    "</code>）；每个数字旁边都报告人与人之间的一致性。",
}
