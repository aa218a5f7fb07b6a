// The views of nodes and marks that are more than text in an element.
import { Plugin, PluginKey } from '@tiptap/pm/state'
import type { EditorView, MarkViewConstructor, NodeViewConstructor } from '@tiptap/pm/view'
import { follow, isSafe } from '../links/address'
import { codeBlock } from '../diagrams/view'
import type { Options } from '../options'
import { callout } from './callout'
import { details, detailsContent } from './details'
import { footnoteDef, footnoteRef } from './footnote'
import { imageView } from './image'
import { PLAIN, highlight, link, textStyle } from './marks'
import { mathBlock, mathInline } from './math'
import { rawBlock, rawInline, unknownBlock, unknownInline } from './raw'
import { references } from './reference'
import { tableView } from '../tables/tableview'

/** The key of the plugin with the views, for documents that are shown beside the editor. */
export const LOOKS = new PluginKey('mirrordLooks')

/** Opens a link on a click: a page of the tree in the console, another address in a new window. A drag selects its words. */
function following(options: Options): (view: EditorView, event: MouseEvent) => boolean {
  return ({ state }, event) => {
    const href = event.target instanceof Element && event.target.closest<HTMLElement>('a.link')?.dataset['href']
    if (!href || !state.selection.empty || event.shiftKey || event.altKey || !isSafe(href)) return false
    event.preventDefault()
    follow(href, options)
    return true
  }
}

/** The plugin with the views of nodes and marks. */
export function looks(options: Options): Plugin {
  const { views, events } = references(options)
  const nodeViews: Record<string, NodeViewConstructor> = {
    ...{ callout, codeBlock, details, detailsContent, footnoteDef, footnoteRef, mathBlock, mathInline },
    ...{ rawBlock, rawInline, unknownBlock, unknownInline },
    table: tableView,
    image: imageView(options),
    ...views,
  }
  const markViews: Record<string, MarkViewConstructor> = { ...PLAIN, highlight, textStyle, link }
  const follows = following(options)
  const click = (view: EditorView, event: MouseEvent) => {
    events.click(view, event)
    return follows(view, event)
  }
  return new Plugin({ key: LOOKS, props: { nodeViews, markViews, handleDOMEvents: { ...events, click } } })
}
