// Every block has an id of its own, also where only changed blocks are looked at.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getSchema } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { EditorState, type Plugin } from '@tiptap/pm/state'
import { Ids, haveSameIds } from '../src/document/ids'
import { extensions } from '../src/document/schema.js'

const schema = getSchema(extensions as never)
const node = (json: object): Node => schema.nodeFromJSON(json)
const words = (text: string, id: string | null) => ({ type: 'paragraph', attrs: { id }, content: [{ type: 'text', text }] })
const page = (...content: object[]): Node => node({ type: 'doc', content })
const plugins = (Ids.config.addProseMirrorPlugins as unknown as () => Plugin[])()
const ids = (state: EditorState): unknown[] => state.doc.children.map((child) => child.attrs['id'])

test('a document with other words in its blocks has the same ids, and no other one', () => {
  const one = page(words('a', '1'), words('b', '2'))
  assert.ok(haveSameIds(one, page(words('a', '1'), words('other', '2'))))
  for (const other of [page(words('a', '1')), page(words('b', '2'), words('a', '1')), page(words('a', '1'), words('b', null))])
    assert.ok(!haveSameIds(one, other))
})

test('blocks without ids get them with the first change, and those that are split or pasted with theirs', () => {
  let state = EditorState.create({ doc: page(words('first', null), words('second', null)), plugins })
  state = state.apply(state.tr.insertText('x', 1))
  const first = ids(state)
  assert.equal(new Set(first).size, 2)
  assert.ok(!first.includes(null))
  state = state.apply(state.tr.insertText('y', 2))
  assert.deepEqual(ids(state), first)
  state = state.apply(state.tr.split(3))
  state = state.apply(state.tr.insert(0, node(words('copy', first[1] as string))))
  assert.equal(new Set(ids(state)).size, 4)
  assert.ok(!ids(state).includes(null))
})
