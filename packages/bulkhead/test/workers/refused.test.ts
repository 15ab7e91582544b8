import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PlacedEnd, PlacedRequest, Placements } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { addToFleet, type MachineKey, newMachineKey, openMachineKey, removeFromFleet } from '@bulkhead/workers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { createWorker, type RunningWorker } from '../../src/facade/create-worker.ts'
import { fleetFile, machineKeyFile } from '../../src/facade/folders.ts'
import type { Host, Outcome, Store } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { NO_PAUSE } from '../extension-folder.ts'
import { Bank } from './bank.ts'
import { writeFar } from './far.ts'
import { Fleet } from './fleet.ts'

describe('callers and workers', needs('PostgreSQL'), () => {
  let fleet: Fleet
  let bank: Bank
  let worker: RunningWorker
  let host: Host
  /** Of a stranger who can write the store. */
  let stranger: Store
  /** What the host placed last. */
  let placed: PlacedRequest
  let key: MachineKey
  beforeAll(async () => {
    bank = await Bank.open()
    fleet = await Fleet.open()
    writeFar(fleet.home, bank.place)
    mkdirSync(join(fleet.folder, 'shop'))
    stranger = await openPostgresStore({ url: fleet.url })
    key = openMachineKey(machineKeyFile(fleet.home))
    const config = { ...NO_PAUSE, extensions: { far: { runsOn: { labels: ['gpu'] } } } }
    host = await fleet.host({ config }, (one) => {
      placed = one
    })
    worker = await createWorker({
      store: stranger, home: fleet.workerHome, cache: CACHE, labels: ['gpu'], env: {},
      workspaces: { shop: join(fleet.folder, 'shop') }, ceiling: { net: { hosts: [bank.place] } },
    })
  })
  afterAll(async () => {
    bank.close()
    await worker.close()
    await fleet[Symbol.asyncDispose]()
    await stranger.close()
  })

  let calls = 0
  const call = async (name: string, from = host): Promise<Outcome> => {
    const session = await from.openSession({ mode: 'yolo' })
    return session.call({ id: `call-${++calls}`, name, arguments: { url: bank.url, what: 'paid', path: 'a.txt' } })
  }
  const refusal = async (outcome: Promise<Outcome>): Promise<readonly [string, string]> => {
    const found = await outcome
    return found.type === 'error' ? [found.error.code, found.error_text] : ['output', '']
  }

  /** What the worker answers to a call that the stranger placed. */
  async function answerTo(request: Partial<PlacedRequest>): Promise<string> {
    const ended = Promise.withResolvers<PlacedEnd>()
    const one = await stranger.placements!.place({ ...placed, id: crypto.randomUUID(), ...request }, {
      onTaken: () => undefined, onMessage: () => undefined, onBegun: () => undefined, onEnd: ended.resolve,
    })
    const end = await ended.promise
    await one.forget()
    if (end.is !== 'settled') return end.is
    const { error } = JSON.parse(Buffer.from(end.result.subarray(64)).toString()) as { error?: { message: string } }
    return error?.message ?? 'accepted'
  }
  const fields = (): JsonObject => JSON.parse(placed.ticket.slice(placed.ticket.indexOf('.') + 1)) as JsonObject
  const signed = (changes: JsonObject, by = key): string => {
    const text = JSON.stringify({ ...fields(), ...changes })
    return `${by.sign('bulkhead ticket 1', Buffer.from(text)).toString('base64url')}.${text}`
  }

  it('a worker refuses a package that its machine does not trust, and says how to trust it', async () => {
    const [code, text] = await refusal(call('where'))
    expect(code).toBe('WorkerRefused')
    expect(text).toMatch(/does not trust the package .*run: bulkhead worker trust package far [0-9a-f]{128}/)
    fleet.trustPackages(host)
    expect(await refusal(call('where'))).toEqual(['output', ''])
  })

  it('a worker refuses a ticket that was used, is for another call, or was changed', async () => {
    const before = bank.posts.length
    await call('acts_twice')
    expect(bank.posts).toHaveLength(before + 2)
    // Until its caller forgets the call, its row is in the way. Then the store knows the ids of calls that are over.
    await expect.poll(() => answerTo({ id: placed.id }).catch(String)).toMatch(/duplicate key/)
    const id = crypto.randomUUID()
    const ticket = signed({ id })
    const answers = [
      await answerTo({}), await answerTo({ id, ticket, body: Buffer.from('{"args":{}}') }),
      await answerTo({ ticket: ticket.replace('"acts_twice"', '"pays"') }),
    ]
    expect(answers).toEqual([
      expect.stringContaining('for another call'), expect.stringContaining('arguments are not those'),
      expect.stringContaining('not signed by its caller'),
    ])
    expect(bank.posts).toHaveLength(before + 2)
  })

  it('a worker refuses what its caller may not sign', async () => {
    await call('acts_twice')
    const before = bank.posts.length
    const signs = (changes: JsonObject, by = key) => {
      const id = crypto.randomUUID()
      return answerTo({ id, ticket: signed({ id, ...changes }, by) })
    }
    const forger = newMachineKey()
    const wide = { ...fields()['grant'] as JsonObject, net: { hosts: ['*'] }, capabilities: ['tools.call'] }
    const HOUR = 3_600_000
    const answers = [
      await signs({ caller: forger.publicKey }, forger), await signs({}, forger), await signs({ grant: wide }),
      await signs({ issued: Date.now() - HOUR, deadlineMs: 1_000 }), await signs({ issued: Date.now() + HOUR }),
      await signs({ major: 2 }), await signs({ labels: ['gpu', 'fast'] }), await signs({ definition: 'other' }),
    ]
    expect(answers).toEqual([
      'does not trust the key', 'not signed by its caller', 'grants more than "acts_twice" declares', 'has expired',
      'from the future', 'caller has version 2', 'for workers with fast', 'no such tool',
    ].map((why) => expect.stringContaining(why) as string))
    expect(bank.posts).toHaveLength(before)
  })

  it('a call without a ready worker says why each one is not', async () => {
    const placements: Placements = stranger.placements!
    const info = { ...worker.info, id: crypto.randomUUID(), labels: ['tpu'], version: '99.0.0' }
    const seat = await placements.serve(info, () => undefined)
    const other = await fleet.host({
      config: { ...NO_PAUSE, extensions: { far: { runsOn: { labels: ['tpu'], workspace: 'shop' } } } },
    })
    const [code, text] = await refusal(call('where', other))
    expect(code).toBe('NoWorkerReady')
    expect(text).toMatch(/No worker with tpu .* does not have tpu\. .* has version 99\.0\.0; this host has \d+\./)
    await seat.close()
  })

  it('a call whose workers are lost before it began anything leaves its key free', async () => {
    const other = await fleet.host({ config: { ...NO_PAUSE, extensions: { far: { runsOn: { labels: ['tpu'] } } } } })
    const session = await other.openSession({ mode: 'yolo' })
    const pays = () => session.call({ id: crypto.randomUUID(), name: 'pays', arguments: {}, idempotencyKey: 'tpu' })
    const losing = async () => {
      const taken = Promise.withResolvers<void>()
      const info = { ...worker.info, id: crypto.randomUUID(), labels: ['tpu'] }
      const seat = await stranger.placements!.serve(info, () => taken.resolve())
      return { seat, taken: taken.promise }
    }
    const workers = [await losing(), await losing(), await losing()]
    const lost = refusal(pays())
    for (let left = workers; left.length > 0;) {
      const taker = await Promise.race(left.map((one) => one.taken.then(() => one)))
      left = left.filter((one) => one !== taker)
      await taker.seat.close()
    }
    expect(await lost).toEqual(['CompartmentCrashed', expect.stringContaining('3 workers were lost')])
    expect((await refusal(pays()))[0]).toBe('NoWorkerReady')
  })

  it('a tool that uses the workspace runs where a worker has it under the name that the caller says', async () => {
    const [code, text] = await refusal(call('writes'))
    const cure = expect.stringContaining('Set runsOn.workspace, of extensions.far') as string
    expect([code, text]).toEqual(['CapabilityUnavailable', cure])
    const other = await fleet.host({
      config: { ...NO_PAUSE, extensions: { far: { runsOn: { labels: ['gpu'], workspace: 'office' } } } },
    })
    const [none, why] = await refusal(call('writes', other))
    expect([none, why]).toEqual(['NoWorkerReady', expect.stringContaining('has no workspace "office"')])
    expect(await refusal(call('where', other))).toEqual(['output', ''])
  })

  it('a caller refuses an unknown worker before anything begins, and a worker an unknown caller', async () => {
    const file = fleetFile(fleet.home)
    removeFromFleet(file, 'worker', 'w')
    const before = bank.posts.length
    const [code, text] = await refusal(call('acts_twice'))
    const trust = `bulkhead worker trust worker NAME ${worker.publicKey}`
    expect([code, text]).toEqual(['BoundaryViolation', expect.stringContaining(trust)])
    expect(bank.posts).toHaveLength(before)
    addToFleet(file, 'worker', 'w', worker.publicKey)
    removeFromFleet(fleetFile(fleet.workerHome), 'caller', 'c')
    expect(await refusal(call('where'))).toEqual(['WorkerRefused', expect.stringContaining('does not trust the key')])
  })
})
