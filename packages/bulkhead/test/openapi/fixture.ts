import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createHost, createProgrammaticInteractor, type ConfigFile, type CreateHostOptions, type Host,
  type InteractionEnvelope,
} from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { NO_PAUSE } from '../extension-folder.ts'
import { openShop, type Answering, type Shop } from './shop.ts'

export type Documents = NonNullable<ConfigFile['openapi']>

const textOf = (value: unknown): string => typeof value === 'string' ? value : JSON.stringify(value)

const echo: Answering = ({ method, url }, response) =>
  response.setHeader('content-type', 'application/json; charset=utf-8').end(JSON.stringify({ method, url }))

/** A folder with a home, hosts and a shop. Closing it ends them. */
export class OpenapiFixture {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-openapi-')))
  readonly home = join(this.folder, 'home/.bulkhead')
  readonly shop: Shop
  readonly #hosts: Host[] = []
  /** The response of the shop. Default: an echo of the request. */
  answer: Answering

  private constructor(shop: Shop, answer: Answering) {
    this.shop = shop
    this.answer = answer
    mkdirSync(this.home, { recursive: true })
  }

  static async create(): Promise<OpenapiFixture> {
    const fixture: OpenapiFixture = new OpenapiFixture(
      await openShop((request, response) => fixture.answer(request, response)), echo,
    )
    return fixture
  }

  /** Forgets the requests and the responses of the last test. */
  forget(): void {
    this.shop.seen.length = 0
    this.answer = echo
  }

  configure(openapi: Documents, more: ConfigFile = {}, root = this.home): void {
    mkdirSync(root, { recursive: true })
    writeFileSync(join(root, 'config.json'), JSON.stringify({ openapi, ...NO_PAUSE, ...more }))
  }

  inHome(value: unknown, name = 'shop.json'): void {
    writeFileSync(join(this.home, name), textOf(value))
  }

  inFolder(value: unknown, name = 'shop.json'): void {
    writeFileSync(join(this.folder, name), textOf(value))
  }

  async open(options: Partial<CreateHostOptions> = {}): Promise<Host> {
    const host = await createHost({ workspace: this.folder, home: this.home, cache: CACHE, env: {}, ...options })
    this.#hosts.push(host)
    return host
  }

  async remove(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.close()))
    await this.shop.close()
    rmSync(this.folder, { recursive: true })
  }
}

export const namesOf = (host: Host): readonly string[] =>
  host.tools().filter(({ server }) => server !== undefined).map(({ name }) => name)

/** A user who approves for the session. Records the prompts. */
export function person() {
  const interactor = createProgrammaticInteractor()
  const shown: InteractionEnvelope[] = []
  interactor.onQuestion((envelope) => {
    shown.push(envelope)
    queueMicrotask(() =>
      interactor.answer(envelope.correlationId, { status: 'accepted', value: { decision: 'session' } }),
    )
  })
  return { interactor, shown }
}

export async function caller(host: Host, options: Parameters<Host['openSession']>[0] = { mode: 'yolo' }) {
  const session = await host.openSession(options)
  let count = 0
  return (name: string, args: object = {}) => session.call({ id: `${count++}`, name, arguments: args as never })
}
