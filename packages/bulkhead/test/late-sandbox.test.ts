import {
  NO_GRANT, type CompartmentRequest, type CompartmentSession, type CompartmentTool, type Sandbox,
} from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { lateSandbox } from '../src/facade/late-sandbox.ts'

const WRITES = { grant: { ...NO_GRANT, fs: { read: [], write: ['/work/**'] } } } as unknown as CompartmentTool
const READS = { grant: { ...NO_GRANT, fs: { read: ['/work/**'], write: [] } } } as unknown as CompartmentTool
const request = { placement: 'process', tools: [WRITES] } as unknown as CompartmentRequest
const session = {} as CompartmentSession

/** A sandbox that records its calls. */
function noting() {
  const notes: string[] = []
  const made: Sandbox = {
    open: async () => { notes.push('open'); return session },
    close: async () => { notes.push('close') },
  }
  return { notes, make: async () => { notes.push('make'); return made } }
}

it('the sandbox is created once, by the first opening, and closed', async () => {
  const { notes, make } = noting()
  const late = lateSandbox(make)
  expect(notes).toEqual([])
  expect(await Promise.all([late.open(request), late.open(request)])).toEqual([session, session])
  await late.close()
  expect(notes).toEqual(['make', 'open', 'open', 'close'])
})

it('the sandbox is never created if it is closed first', async () => {
  const { notes, make } = noting()
  const late = lateSandbox(make)
  await late.close()
  await expect(late.open(request)).rejects.toMatchObject({ code: 'HostClosed' })
  expect(notes).toEqual([])
})

it('the sandbox is closed even if it was being created', async () => {
  const { notes, make } = noting()
  const going = Promise.withResolvers<void>()
  const late = lateSandbox(async () => { await going.promise; return make() })
  const opening = late.open(request)
  const closing = late.close()
  going.resolve()
  await Promise.all([opening, closing])
  expect(notes.at(-1)).toBe('close')
})

it('creation is retried after a failure', async () => {
  const { make } = noting()
  let tries = 0
  const late = lateSandbox(async () => {
    if (++tries === 1) throw new Error('no memory')
    return make()
  })
  await expect(late.open(request)).rejects.toThrow('no memory')
  await expect(late.open(request)).resolves.toBe(session)
})

it('does not blame an extension for missing system resources, and retries', async () => {
  const { make } = noting()
  let tries = 0
  const late = lateSandbox(async () => {
    if (++tries === 1)
      throw Object.assign(new Error("EMFILE: too many open files, open '/a/module.ts'"), { code: 'EMFILE' })
    return make()
  })
  await expect(late.open(request)).rejects.toMatchObject({
    code: 'NoPlaceFree', message: expect.stringContaining('EMFILE'),
  })
  expect(await late.open(request)).toBe(session)
})

it('prepares once for code that could change the disk, again after a failure, and never for bundled code', async () => {
  const { make, notes } = noting()
  const late = lateSandbox(make, async () => {
    notes.push('prepare')
    if (notes.filter((note) => note === 'prepare').length === 1) throw new Error('EMFILE: too many open files')
  })
  await late.open({ placement: 'inline' } as CompartmentRequest)
  await expect(late.open(request)).rejects.toMatchObject({ code: 'NoPlaceFree' })
  await late.open(request)
  await late.open(request)
  expect(notes).toEqual(['make', 'open', 'prepare', 'prepare', 'open', 'open'])
})

it.each([
  ['reads files', 'process', READS, []],
  ['has no power', 'process', { grant: NO_GRANT }, []],
  ['writes files', 'process', WRITES, ['prepare']],
  ['runs commands', 'process', { grant: { ...NO_GRANT, shell: [{ cmd: 'ls' }] } }, ['prepare']],
  ['calls tools', 'process', { grant: { ...NO_GRANT, capabilities: ['tools.call'] } }, ['prepare']],
  ['runs agents', 'process', { grant: { ...NO_GRANT, capabilities: ['subagents'] } }, ['prepare']],
  ['shares the process of the host', 'thread', { grant: NO_GRANT }, ['prepare']],
])('code that %s', async (_what, placement, tool, expected) => {
  const { make, notes } = noting()
  const late = lateSandbox(make, async () => void notes.push('prepare'))
  await late.open({ placement, tools: [tool] } as unknown as CompartmentRequest)
  expect(notes.filter((note) => note === 'prepare')).toEqual(expected)
})
