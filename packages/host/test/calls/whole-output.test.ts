import { expect, test } from 'vitest'
import { CallOutput, openOutput, type SavingAttempt } from '../../src/calls/whole-output.ts'
import { sidecarWithTimeout, type Sidecar } from '../../src/records/timeouts.ts'
import { ManualClock } from '../twin/clock.ts'

/** A sidecar that keeps its files in memory. */
function filing() {
  const files = new Map<string, string>()
  const open: NonNullable<Sidecar['open']> = async (_session, callId) => {
    files.set(callId, '')
    return {
      write: async (bytes) => void files.set(callId, files.get(callId)! + Buffer.from(bytes).toString()),
      close: async () => `/${callId}`,
      remove: async () => void files.delete(callId),
    }
  }
  return { files, sidecar: { open, save: async () => '/saved' } }
}
const call = (id = 'c1', attempt = 1) =>
  ({ call: { id, request: {}, session: { id: 's1' } }, attempt }) as unknown as SavingAttempt
const faults: unknown[] = []
const events = { suppressed: (_source: string, thrown: unknown) => void faults.push(thrown) }
const place = (sidecar: { open: NonNullable<Sidecar['open']> }, savedBytes = 10_000) =>
  ({ sidecar, events, savedBytes, shownBytes: 100 })
const bytes = (text: string): Buffer => Buffer.from(text)

test('there is no file before the output is longer than a model sees', async () => {
  const { files, sidecar } = filing()
  const output = new CallOutput(call(), place(sidecar))
  expect(output.add('stdout', bytes('short\n'))).toBeUndefined()
  expect(files.size).toBe(0)
  await output.add('stdout', bytes(`${'x'.repeat(200)}\n`))
  expect(files.get('c1')).toBe(`short\n${'x'.repeat(200)}\n`)
  expect(await output.close()).toEqual({ output_path: '/c1' })
})

test('a long line, and more than a MiB, are written before they end', async () => {
  const { files, sidecar } = filing()
  const line = new CallOutput(call(), { ...place(sidecar, 10_000_000), shownBytes: 1 })
  await line.add('stdout', bytes('x'.repeat(65_537)))
  expect(files.get('c1')).toHaveLength(65_537)
  const wide = new CallOutput(call('c2'), { ...place(sidecar, 10_000_000), shownBytes: 8 * 1024 ** 2 })
  await wide.add('stdout', bytes(`${'x'.repeat(1024 ** 2)}\n`))
  expect(files.get('c2')).toHaveLength(1024 ** 2 + 1)
})

test('lines of two sources are not mixed, also if they arrive in parts', async () => {
  const { files, sidecar } = filing()
  const output = new CallOutput(call(), place(sidecar))
  for (const [source, text] of [
    ['stdout', 'one '], ['stderr', 'wrong'], ['stdout', 'line\ntwo'], ['stderr', ' thing\n'], ['stdout', ' lines'],
  ] as const) await output.add(source, bytes(text))
  expect(await output.close()).toEqual({ output_path: '/c1' })
  expect(files.get('c1')).toBe('one line\nwrong thing\ntwo lines')
})

test('what exceeds the limit or cannot be written is missing, and the result says so', async () => {
  const { files, sidecar } = filing()
  const limited = new CallOutput(call(), place(sidecar, 150))
  await limited.add('stdout', bytes('a'.repeat(200)))
  await limited.add('stdout', bytes('b'.repeat(200)))
  expect(await limited.close()).toEqual({ output_path: '/c1', output_cut: true })
  expect(files.get('c1')).toBe('a'.repeat(150))
  const session = new CallOutput(call('c2'), place(sidecarWithTimeout(sidecar, new ManualClock(), 250)))
  for (const letter of 'abc') await session.add('stdout', bytes(`${letter.repeat(120)}\n`))
  expect(await session.close()).toEqual({ output_path: '/c2', output_cut: true })
  expect(files.get('c2')).toBe(`${'a'.repeat(120)}\n${'b'.repeat(120)}\n`)
  const open = () => Promise.reject(new Error('disk full'))
  const failing = new CallOutput(call('c3'), place({ open }))
  await failing.add('stdout', bytes('a'.repeat(200)))
  expect(await failing.close()).toEqual({})
  expect(faults.map((thrown) => (thrown as Error).message)).toEqual([
    expect.stringContaining('sessionSavedBytes'), 'disk full',
  ])
})

test('a second attempt starts again, and what is not needed is removed', async () => {
  const { files, sidecar } = filing()
  const one = call()
  const first = openOutput(one, place(sidecar))
  await first.add('stdout', bytes(`${'x'.repeat(200)}\n`))
  expect(openOutput(one, place(sidecar))).toBe(first)
  const second = openOutput(Object.assign(one, { attempt: 2 }), place(sidecar))
  expect(second).not.toBe(first)
  await expect.poll(() => files.size).toBe(0)
})

test('a sidecar that takes whole texts only gets the parts together', async () => {
  const saved: string[] = []
  const plain = sidecarWithTimeout({ save: async (_session, _call, text) => `/${saved.push(text)}` }, new ManualClock())
  const output = new CallOutput(call(), place(plain))
  await output.add('stdout', bytes(`${'x'.repeat(200)}\n`))
  await output.add('stdout', bytes('end'))
  expect(await output.close()).toEqual({ output_path: '/1' })
  expect(saved).toEqual([`${'x'.repeat(200)}\nend`])
})
