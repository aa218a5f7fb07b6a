/** Marks transactions that bring what was not typed here. */
export const ELSEWHERE = 'mirrordElsewhere'
