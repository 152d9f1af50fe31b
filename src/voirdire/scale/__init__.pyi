from voirdire.scale.ray_run import judge_with_ray as judge_with_ray
