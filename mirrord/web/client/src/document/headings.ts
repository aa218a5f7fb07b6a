// PURE: the place in a page that the part of a link after `#` leads to, by the rules of `markdown/heading_links.py`.
import type { Node } from '@tiptap/pm/model'

const PUNCTUATION = /[!"#$%&()*+,.:;<=>?@^`{|}~/[\]\\\s]+/g
const NOT_IN_SLUGS = /[^\p{L}\p{N}\p{M}_\- ]/gu

interface Heading {
  at: number
  level: number
  text: string
}

/** The position of a heading, named by its text or slug, or of a block, by `^` and its id; null: there is none. */
export function placeOfFragment(doc: Node, fragment: string): number | null {
  if (fragment.startsWith('^')) return placeOfBlock(doc, fragment)
  const headings = headingsOf(doc)
  return placeOfSlug(headings, fragment) ?? placeOfSteps(headings, fragment.split('#').map(keyOf))
}

function headingsOf(doc: Node): Heading[] {
  const headings: Heading[] = []
  doc.descendants((node, at) => {
    if (node.type.name === 'heading') headings.push({ at, level: Number(node.attrs['level']), text: textOf(node) })
    return !node.isTextblock
  })
  return headings
}

const textOf = (node: Node) =>
  node.textBetween(0, node.content.size, '', ({ attrs }) => String(attrs['alias'] || attrs['target'] || attrs['alt'] || ''))

const keyOf = (text: string) => text.replace(PUNCTUATION, ' ').trim().toLowerCase()

function placeOfSlug(headings: Heading[], fragment: string): number | null {
  const counts = new Map<string, number>()
  for (const { at, text } of headings) {
    const slug = text.trim().replace(NOT_IN_SLUGS, '').toLowerCase().replaceAll(' ', '-')
    const count = counts.get(slug) ?? 0
    if (fragment === (count ? `${slug}-${count}` : slug)) return at
    counts.set(slug, count + 1)
  }
  return null
}

/** Follows headings inwards, each below the one before. */
function placeOfSteps(headings: Heading[], keys: string[]): number | null {
  let below = headings
  let step: Heading | undefined
  for (const key of keys) {
    const index = below.findIndex(({ text }) => key !== '' && keyOf(text) === key)
    step = below[index]
    if (!step) return null
    const rest = below.slice(index + 1)
    const end = rest.findIndex(({ level }) => level <= step!.level)
    below = end < 0 ? rest : rest.slice(0, end)
  }
  return step?.at ?? null
}

function placeOfBlock(doc: Node, id: string): number | null {
  let place: number | null = null
  doc.descendants((node, at) => {
    if (place === null && node.isTextblock && ` ${node.textContent}`.endsWith(` ${id}`)) place = at
    return place === null && !node.isTextblock
  })
  return place
}
