import { expect, it } from 'vitest'
import { lendFiles, type LendingSources } from '../../src/sessions/services.ts'

const files = new Map([['mine', new Set(['/long/mine'])], ['other', new Set(['/long/other'])]])
const sidecar = { save: async () => '', files: (session: string) => files.get(session) ?? new Set<string>() }
const calls = new Map<string, object>([
  ['c1', { session: { id: 'mine' }, parent: undefined }], ['c2', { session: { id: 'other' }, parent: undefined }],
  ['nested', { session: { id: 'mine' }, parent: { isProgram: false } }],
  ['of a program', { session: { id: 'mine' }, parent: { isProgram: true } }],
  ['empty', { session: { id: 'third' }, parent: undefined }],
])
const running = {
  get: (id: string) => (calls.has(id) ? { call: calls.get(id) } : undefined),
} as unknown as LendingSources['running']

const lent = (id: string, layer: 'bundled' | 'global' | 'project', callId: string) =>
  lendFiles({ descriptor: { id, layer }, running, sidecar }).lentFiles?.(callId)

it('a bundled reading tool may read the saved results of its own session', () => {
  for (const id of ['read', 'grep']) {
    expect([...lent(id, 'bundled', 'c1')!]).toEqual(['/long/mine'])
    expect([...lent(id, 'bundled', 'c2')!]).toEqual(['/long/other'])
    expect([...lent(id, 'bundled', 'of a program')!]).toEqual(['/long/mine'])
    for (const call of ['nested', 'empty', 'over']) expect([...lent(id, 'bundled', call)!], call).toEqual([])
  }
})

it('no other tool may, and none may if the sidecar lists no files', () => {
  expect(lent('read', 'project', 'c1')).toBeUndefined()
  expect(lent('grep', 'global', 'c1')).toBeUndefined()
  expect(lent('bash', 'bundled', 'c1')).toBeUndefined()
  const { save } = sidecar
  expect(lendFiles({ descriptor: { id: 'read', layer: 'bundled' }, running, sidecar: { save } })).toEqual({})
  expect(lendFiles({ descriptor: { id: 'read', layer: 'bundled' }, running, sidecar: undefined })).toEqual({})
})
