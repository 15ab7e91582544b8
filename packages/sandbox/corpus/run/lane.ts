import type { Attack } from '../case.ts'
import { attackOf } from '../cases/index.ts'
import type { Ground } from '../ground/ground.ts'
import { layGround } from '../ground/ground.ts'
import type { FromHost, Job, Seen } from '../protocol.ts'
import { HostProcess } from './host-process.ts'
import type { HostFate, Observation } from './verdict.ts'

const WATCH_MS = 25
const PONG_MS = 1_500
/** What must be contained is waited for: other work on this machine may slow it down. */
const PATIENCE_MS = 300_000
/** Far above what host, neighbour and the limits of one compartment come to together. */
const SWOLLEN_MB = 900

/** One ground with one host on it at a time. Attacks run one after the other; a host that falls is replaced. */
export class Lane {
  #ground: Ground | undefined
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
    await this.#ground?.remove()
    this.#host = undefined
    this.#ground = undefined
  }

  /** As many attacks of a job as the host survives, and the one it does not. */
  async #runSome(job: Job): Promise<readonly Observation[]> {
    this.#ground ??= await layGround()
    if (this.#host?.alive !== true) this.#host = await HostProcess.start(this.#ground)
    const observations: Observation[] = []
    this.#host.send({ type: 'job', job })
    for (const id of job.attacks) {
      const observation = await this.#watch(attackOf(id), job, this.#host, this.#ground)
      observations.push(observation)
      const { fate, touched } = observation
      if (touched.length > 0 || fate.kind !== 'alive' || fate.aftermath.changed.length > 0) {
        // On another ground it would stand in a folder that is gone, with descriptors of files that nobody watches.
        await this.#host.end()
        if (touched.length > 0) await this.#ground.restore()
        break
      }
      this.#host.send({ type: 'go' })
    }
    return observations
  }

  /** One attack from its beginning to its end, or to that of the host. */
  async #watch(attack: Attack, { placement, layers }: Job, host: HostProcess, ground: Ground): Promise<Observation> {
    const began = performance.now()
    const seen: Seen[] = []
    const ended = Promise.withResolvers<HostFate>()
    let pong = (): void => undefined
    host.listen((message: FromHost) => {
      if (message.type === 'step' && message.id === attack.id) seen.push(message.seen)
      if (message.type === 'end' && message.id === attack.id) ended.resolve({ kind: 'alive', aftermath: message.aftermath })
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
      void host.megabytes().then((megabytes) => {
        if (megabytes > SWOLLEN_MB) ended.resolve({ kind: 'swollen', megabytes })
      })
    }, WATCH_MS)
    const fate = await ended.promise
    clearTimeout(patience)
    clearInterval(scale)
    // A host that grows is ended at once: the machine is not ours alone.
    if (fate.kind !== 'alive') await host.end()
    return {
      id: attack.id, placement, layers, seen, fate, touched: await ground.touched(),
      tookMs: Math.round(performance.now() - began),
    }
  }
}
