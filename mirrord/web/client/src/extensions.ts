// The extensions of the editor: the schema of pages, its views, and rules for typing.
import { type AnyExtension, Extension, Node } from '@tiptap/core'
import type { Plugin } from '@tiptap/pm/state'
import { Clashing } from './clash'
import { completing } from './completion'
import { Highlighting } from './highlighting'
import { Ids } from './ids'
import { Keys } from './keys'
import type { Options } from './options'
import { extensions } from './schema.js'
import { Slash } from './slash'
import { Tasks } from './tasks'
import { receiving } from './uploads'

// Our views replace those of TipTap for these nodes.
const REPLACED = ['details', 'detailsContent']

/** The extensions of an editor with the views of *looks*; *tell* shows failures to a person. */
export function extensionsFor(options: Options, looks: Plugin, tell: (sentence: string) => void): AnyExtension[] {
  const plugins = [looks, receiving(options, tell)]
  return [
    ...(extensions as AnyExtension[]).map(bare),
    Extension.create({ name: 'mirrordLooks', addProseMirrorPlugins: () => plugins }),
    ...[Ids, Clashing, Highlighting, Keys, Slash, Tasks, completing(options)],
  ]
}

function bare(extension: AnyExtension): AnyExtension {
  const isReplaced = extension instanceof Node && REPLACED.includes(extension.name)
  return isReplaced ? extension.extend({ addNodeView: () => null }) : extension
}
