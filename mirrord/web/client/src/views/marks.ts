// Marks with attributes from pages: each attribute sets one property and nothing else.
import type { Mark } from '@tiptap/pm/model'
import type { MarkViewConstructor } from '@tiptap/pm/view'
import { isExternal, isSafe } from '../links/address'
import { element } from '../dom'
import { VIEW } from '../words'

const value = (mark: Mark, name: string) => String(mark.attrs[name] ?? '')

const plain = (name: string): MarkViewConstructor => () => {
  const dom = document.createElement(name)
  return { dom, contentDOM: dom }
}

/** Marks that are only an element: a long page has thousands of them. */
export const PLAIN = { bold: plain('strong'), italic: plain('em'), strike: plain('s'), code: plain('code') }

export const textStyle: MarkViewConstructor = (mark) => {
  const dom = element('span')
  dom.style.color = value(mark, 'color')
  dom.style.backgroundColor = value(mark, 'backgroundColor')
  dom.style.fontSize = value(mark, 'fontSize')
  dom.style.fontFamily = value(mark, 'fontFamily')
  return { dom, contentDOM: dom }
}

export const highlight: MarkViewConstructor = (mark) => {
  const dom = element('mark')
  dom.style.backgroundColor = value(mark, 'color')
  return { dom, contentDOM: dom }
}

export const link: MarkViewConstructor = (mark) => {
  const href = value(mark, 'href')
  const hint = isSafe(href) ? value(mark, 'title') || href : VIEW.unsafe(href)
  // The browser opens only addresses outside the tree; others are resolved when they are followed.
  const outside = isExternal(href) ? { href, target: '_blank', rel: 'noopener noreferrer' } : {}
  const dom = element('a', { ...outside, class: isSafe(href) ? 'link' : 'link unsafe', title: hint, 'data-href': href })
  return { dom, contentDOM: dom }
}
