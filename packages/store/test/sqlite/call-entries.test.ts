import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { CallEntry } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import type { Notebook } from '../../src/sqlite/journal-file.ts'
import { CallEntries, type StartGate } from '../../src/sqlite/work/call-entries.ts'
import { CallNotes } from '../../src/sqlite/work/call-notes.ts'
import { CALL } from './seats.ts'

/** Entries that log what they write. The first number is that of the form. */
function logging(faults: Partial<Notebook & StartGate> = {}) {
  const log: string[] = []
  const notebook: Notebook = {
    isEmpty: false, put: (id) => void log.push(`put ${id}`), drop: (id) => void log.push(`drop ${id}`),
    save: () => void log.push('save'), requireFile() {}, close() {}, ...faults,
  }
  const gate: StartGate = {
    refuse: () => undefined, requireSeat() {}, onFault: (error) => void log.push(String(error)), ...faults,
  }
  const entries = new CallEntries(new CallNotes(notebook), gate)
  const open = () => entries.open(CALL)
  const send = async (entry: CallEntry, name: string, isInline = false) => {
    await entry.start({ at: 1, revision: undefined, isInline })
    log.push(`sent ${name}`)
  }
  return { log, open, send }
}

it('a single call is sent before it is written, in the same tick', async () => {
  const { log, open, send } = logging()
  await send(open(), 'a')
  expect(log).toEqual(['sent a'])
  await nextTurn()
  expect(log).toEqual(['sent a', 'put 1', 'put 2', 'save'])
})

it('calls of one tick are written together before they are sent', async () => {
  const { log, open, send } = logging()
  const [a, b] = [open(), open()]
  await Promise.all([send(a, 'a'), send(b, 'b')])
  expect(log).toEqual(['put 1', 'put 2', 'put 3', 'save', 'sent a', 'sent b'])
})

it('a call in the thread of the host is written before it is sent, and so is what its start begins', async () => {
  const { log, open, send } = logging()
  await send(open(), 'a', true)
  const entry = open()
  await entry.start({ at: 1, revision: undefined, isInline: true, begins: { attempt: 1, at: 1, what: 'runs' } })
  entry.end()
  entry.end()
  expect(log).toEqual(['put 1', 'put 2', 'save', 'sent a', 'put 3', 'save', 'drop 3'])
})

it('a call that waits is written, and one that ends before is not', async () => {
  const { log, open } = logging()
  const [waiting, vetoed] = [open(), open()]
  vetoed.end()
  await sleep(50)
  waiting.end()
  expect(log).toEqual(['put 1', 'put 2', 'save', 'drop 2'])
})

it('an entry that cannot be saved costs no call, and an effect does not begin without it', async () => {
  const full = new Error('the disk is full')
  const { log, open, send } = logging({ save: () => { throw full } })
  const entry = open()
  await send(entry, 'a', true)
  expect(log).toEqual(['put 1', 'put 2', 'Error: the disk is full', 'sent a'])
  expect(() => entry.begin({ attempt: 1, at: 1, what: 'writes' })).toThrow(full)
})

it('a call that is refused is not written', async () => {
  const { log, open } = logging({ refuse: () => ({ is: 'changed' }) })
  const entry = open()
  expect(await entry.start({ at: 1, revision: 1, isInline: true })).toEqual({ is: 'changed' })
  entry.end()
  await nextTurn()
  expect(log).toEqual([])
})
