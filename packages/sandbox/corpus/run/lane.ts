import type { Attack } from '../model/case.ts'
import { attackOf } from '../cases/index.ts'
import type { Target } from '../target/target.ts'
import { createTarget } from '../target/target.ts'
import type { FromHost, Job, Seen } from '../model/protocol.ts'
import { HostProcess } from './host-process.ts'
import type { HostFate } from '../model/fate.ts'
import type { Observation } from './verdict.ts'

const WATCH_MS = 25
const PONG_MS = 1_500
/** Long, because other work on this machine may slow an attack down. */
const PATIENCE_MS = 60_000
/** Far above the memory of the host, the other extension and one compartment together. */
const SWOLLEN_MB = 900

/** Runs attacks one after the other, on one target with one host at a time. A host that fails is replaced. */
export class Lane {
  #target: Target | undefined
  #host: HostProcess | undefined

  async run(job: Job): Promise<readonly Observation[]> {
    const observations: Observation[] = []
    let left = job.attacks
    while (left.length > 0) {
      const done = await this.#runSome({ ...job, attacks: left })
      observations.push(...done)
      left = left.slice(done.length)
    }
    return observations
  }

  async close(): Promise<void> {
    await this.#host?.end()
    await this.#target?.remove()
    this.#host = undefined
    this.#target = undefined
  }

  /** The attacks of a job up to the first that the host does not survive. */
  async #runSome(job: Job): Promise<readonly Observation[]> {
    this.#target ??= await createTarget()
    if (this.#host?.alive !== true) this.#host = await HostProcess.start(this.#target)
    const observations: Observation[] = []
    this.#host.send({ type: 'job', job })
    for (const id of job.attacks) {
      const observation = await this.#watch(attackOf(id), job, this.#host, this.#target)
      observations.push(observation)
      const { fate, touched } = observation
      if (touched.length > 0 || fate.kind !== 'alive' || fate.aftermath.changed.length > 0) {
        // Its working folder and descriptors belong to files that are replaced next.
        await this.#host.end()
        if (touched.length > 0) await this.#target.restore()
        break
      }
      this.#host.send({ type: 'go' })
    }
    return observations
  }

  /** Observes one attack until it or the host ends. */
  async #watch(attack: Attack, { placement, layers }: Job, host: HostProcess, target: Target): Promise<Observation> {
    const began = performance.now()
    const seen: Seen[] = []
    const ended = Promise.withResolvers<HostFate>()
    let pong = (): void => undefined
    host.listen((message: FromHost) => {
      if (message.type === 'step' && message.id === attack.id) seen.push(message.seen)
      if (message.type === 'end' && message.id === attack.id) ended.resolve(
        { kind: 'alive', aftermath: message.aftermath },
      )
      if (message.type === 'pong') pong()
    })
    void host.died.then((how) => ended.resolve({ kind: 'died', how }))
    const patience = setTimeout(() => {
      const blocked = setTimeout(() => ended.resolve({ kind: 'blocked' }), PONG_MS)
      pong = () => {
        clearTimeout(blocked)
        ended.resolve({ kind: 'stuck' })
      }
      host.send({ type: 'ping' })
    }, attack.placements.includes(placement) ? PATIENCE_MS : attack.patienceMs)
    const scale = setInterval(() => {
      const megabytes = host.megabytes()
      if (megabytes > SWOLLEN_MB) ended.resolve({ kind: 'swollen', megabytes })
    }, WATCH_MS)
    const fate = await ended.promise
    clearTimeout(patience)
    clearInterval(scale)
    // A host that grows is killed at once, because other processes need the memory.
    if (fate.kind !== 'alive') await host.end()
    return {
      id: attack.id, placement, layers, seen, fate, touched: target.touched(),
      tookMs: Math.round(performance.now() - began),
    }
  }
}
