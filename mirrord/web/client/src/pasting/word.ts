// Lists of Word, which are paragraphs that only look like items, and lists of Word in browsers, which are lists of one item.
import { made } from './made'
import { styleOf } from './styles'

interface Item {
  from: Element
  level: number
  isOrdered: boolean
}

/** Turns each run of such items into nested lists. */
export function convertWordLists(root: HTMLElement): void {
  for (const each of root.querySelectorAll('p.MsoTitle')) rename(each, 'h1')
  for (const each of root.querySelectorAll('p.MsoSubtitle')) rename(each, 'h2')
  let run: Item[] = []
  for (const each of [...root.querySelectorAll('p, div.ListContainerWrapper')]) {
    const item = itemOf(each)
    const isNext = item && run.at(-1)?.from.nextElementSibling === each
    if (run.length && !isNext) {
      build(run)
      run = []
    }
    if (item) run.push(item)
  }
  if (run.length) build(run)
}

function itemOf(each: Element): Item | null {
  if (each.nodeName === 'DIV') {
    const item = each.querySelector('li')
    const level = Number(item?.getAttribute('data-aria-level') ?? item?.getAttribute('aria-level') ?? 1)
    return item && { from: each, level, isOrdered: each.querySelector('ol') !== null }
  }
  const level = /level(\d+)/.exec(styleOf(each, 'mso-list'))?.[1]
  if (!level) return null
  return { from: each, level: Number(level), isOrdered: /^\W*[\da-z]{1,4}[.)]/i.test(markerOf(each)?.textContent ?? '') }
}

const markerOf = (each: Element) =>
  [...each.querySelectorAll('span')].find((span) => /ignore/i.test(styleOf(span, 'mso-list')))

function build(run: Item[]): void {
  const top = made(run[0]!.from, 'div')
  const open: { level: number; list: Element }[] = []
  run[0]!.from.before(top)
  for (const { from, level, isOrdered } of run) {
    while (open.length && open.at(-1)!.level > level) open.pop()
    if (!open.length || open.at(-1)!.level < level) {
      const list = made(top, isOrdered ? 'ol' : 'ul')
      const within = open.at(-1)?.list.lastElementChild ?? top
      within.append(list)
      open.push({ level, list })
    }
    open.at(-1)!.list.append(converted(from))
  }
  top.replaceWith(...top.childNodes)
}

function converted(from: Element): Element {
  markerOf(from)?.remove()
  const item = made(from, 'li')
  const words = from.nodeName === 'DIV' ? from.querySelector('li')! : from
  item.append(...words.childNodes)
  from.remove()
  return item
}

function rename(each: Element, name: string): void {
  const renamed = made(each, name)
  renamed.append(...each.childNodes)
  each.replaceWith(renamed)
}
