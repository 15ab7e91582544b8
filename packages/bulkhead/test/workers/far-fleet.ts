import type { Host, Outcome } from '../../src/index.ts'
import { NO_PAUSE } from '../extension-folder.ts'
import { Bank } from './bank.ts'
import { writeFar } from './far.ts'
import { Fleet, type WorkerProcess, type WorkerTerms } from './fleet.ts'

/** A bank, and a host that calls the tools of `far`, which use the bank, on workers. */
export class FarFleet {
  readonly fleet: Fleet
  readonly bank: Bank
  readonly host: Host
  /** How many calls were made. The last one has it in its id. */
  calls = 0

  private constructor(fleet: Fleet, bank: Bank, host: Host) {
    this.fleet = fleet
    this.bank = bank
    this.host = host
  }

  static async open(leaseMs?: number): Promise<FarFleet> {
    const bank = await Bank.open()
    const fleet = await Fleet.open(leaseMs)
    writeFar(fleet.home, bank.place)
    const host = await fleet.host({ config: { ...NO_PAUSE, extensions: { far: { runsOn: { labels: ['gpu'] } } } } })
    fleet.trustPackages(host)
    return new FarFleet(fleet, bank, host)
  }

  /** Resolves when it serves calls. */
  async worker(terms: Partial<WorkerTerms> = {}): Promise<WorkerProcess> {
    const started = this.fleet.worker({ ceiling: { net: { hosts: [this.bank.place] } }, ...terms })
    await started.until('ready')
    return started
  }

  async call(name: string, id = `call-${++this.calls}`): Promise<Outcome> {
    const session = await this.host.openSession({ mode: 'yolo' })
    return session.call({ id, name, arguments: { url: this.bank.url, what: id }, idempotencyKey: `key-${id}` })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.bank.close()
    await this.fleet[Symbol.asyncDispose]()
  }
}
