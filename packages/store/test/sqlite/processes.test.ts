import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { killRounds } from './kill-rounds.ts'
import { StoreFolder } from './store-folder.ts'
import { AcknowledgementLog, confirm, makeRecord } from './acknowledgement-log.ts'
import { runWriter } from './writer-process.ts'

const ROUNDS = thoroughly(2, 20)

describe('a store with several processes', () => {
  it('has all acknowledged records after each SIGKILL', async () => {
    await using folder = new StoreFolder()
    expect(await killRounds(folder.path, { rounds: ROUNDS, seed: Date.now() })).toBeGreaterThan(ROUNDS * 5)
  })

  it('assigns positions without gaps to concurrent writers of a new file', LONG, async () => {
    await using folder = new StoreFolder()
    const runs = await Promise.all(['a', 'b', 'c'].map((writer) => runWriter(folder.file, writer, {
      bursts: thoroughly(5, 60),
    })))
    expect(runs.map((run) => run.exitCode)).toEqual([0, 0, 0])
    const store = await folder.open()
    await confirm(store, runs.map((run) => run.log))
    const acknowledged = runs.reduce((sum, run) => sum + run.log.acknowledged, 0)
    expect(await store.records()).toHaveLength(acknowledged)
  })

  it.each<[string, string[], RegExp]>([
    ['lost', ['appended 2 9\n'], /acknowledged at 2/],
    ['at another position', ['appended 2 1\n'], /acknowledged at 2 and is at 1/],
    ['duplicated', [], /there twice/],
    ['older than acknowledged', ['wrote slot', '-1 2\n'], /holds 1/],
  ])('detects data that is %s', async (_, chunks, complaint) => {
    await using folder = new StoreFolder()
    const store = await folder.open()
    const log = new AcknowledgementLog('w')
    for (const chunk of chunks) log.add(chunk)
    await store.append(makeRecord('w', 1))
    if (chunks.length === 0) await store.append(makeRecord('w', 1))
    await store.write('state', 'w/slot-1', makeRecord('w', 1))
    await expect(confirm(store, [log])).rejects.toThrow(complaint)
  })
})
