import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { KeptTrials } from '../../src/os/kept-trials.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-trials-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const file = () => join(folder, 'cache/trials.json')
const open = () => new KeptTrials(join(folder, 'cache'))
const never = (): Promise<never> => Promise.reject(new Error('asked again'))

async function keep(answer: unknown): Promise<void> {
  const trials = open()
  await trials.answer(['a', 1], async () => answer)
  trials.save()
}

it('an answer is kept for later processes', async () => {
  const first = open()
  expect(await first.answer(['a', 1], async () => ({ stands: true }))).toEqual({ stands: true })
  expect(first.wasUsed).toBe(false)
  first.save()
  const next = open()
  expect(await next.answer(['a', 1], never)).toEqual({ stands: true })
  expect([next.wasUsed, next.isMixed]).toEqual([true, false])
  await expect(next.answer(['a', 2], never)).rejects.toThrow('asked again')
  expect(next.isMixed).toBe(true)
})

it('an answer that may be different the next time is not kept', async () => {
  const first = open()
  await first.answer('a', async () => 'busy', (answer) => answer !== 'busy')
  first.save()
  expect(await open().answer('a', async () => 'works')).toBe('works')
})

it('everything is asked again if nothing kept counts, and then kept', async () => {
  await keep('before')
  const again = new KeptTrials(join(folder, 'cache'), true)
  expect(await again.answer(['a', 1], async () => 'after')).toBe('after')
  expect(again.wasUsed).toBe(false)
  again.save()
  expect(await open().answer(['a', 1], never)).toBe('after')
})

it.each<[string, () => void]>([
  ['is of another machine', () => {
    const kept = JSON.parse(readFileSync(file(), 'utf8')) as { machine: string }
    writeFileSync(file(), JSON.stringify({ ...kept, machine: `${kept.machine} ` }))
  }],
  ['is not JSON', () => writeFileSync(file(), '{')],
  ['has no answers', () => writeFileSync(file(), readFileSync(file(), 'utf8').replace('"answers"', '"other"'))],
  ['others can write', () => chmodSync(file(), 0o666)],
])('a file that %s counts as none', async (_, spoil) => {
  await keep('kept')
  spoil()
  expect(await open().answer(['a', 1], async () => 'asked')).toBe('asked')
})

it('nothing is kept without a folder', async () => {
  const trials = new KeptTrials(undefined)
  expect(await trials.answer('a', async () => 'asked')).toBe('asked')
  trials.save()
  expect(new KeptTrials(undefined).wasUsed).toBe(false)
})
