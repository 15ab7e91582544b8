import { mkdir, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError, DEFAULT_LIMITS } from '@bulkhead/contract'
import { Broker } from '../../../src/broker.ts'
import type { OpenCall } from '../../../src/model/capability.ts'
import { temporaryFolder, toolOf } from '../../fixture.ts'
import type { Loopback } from '../../net/loopback.ts'
import { serve } from '../../net/loopback.ts'
import { any } from '../../shell/shell-setup.ts'
import type { Part, ResolvedPath, Program, Secrets, Step } from './program.ts'
import { textOf } from './program.ts'

/** Everything the tool of a program sees of the broker, in order. */
export type Trace = readonly Json[]

/** What differs between two runs of a program. A tool must not notice the difference. */
export interface World {
  readonly secret: string
  /** Content of the file that no tool may read. undefined: the file does not exist. */
  readonly closedFile: string | undefined
}

const COMMANDS: Readonly<Record<ResolvedPath, string>> = { own: 'echo', foreign: 'printf' }
/** More turns of the event loop than a chunk needs to pass through the broker over loopback. */
const TURNS = 12

/** Servers and folders for programs. The server cooperates with the tool and knows both secrets. */
export class ProgramRunner {
  readonly #servers: Readonly<Record<ResolvedPath, Loopback>>
  readonly #root: string
  #answer: (response: ServerResponse, echoed: string) => void = () => undefined

  private constructor(root: string, servers: Readonly<Record<ResolvedPath, Loopback>>) {
    this.#root = root
    this.#servers = servers
  }

  static async open(): Promise<ProgramRunner> {
    const root = await temporaryFolder()
    await Promise.all([mkdir(join(root, 'workspace', 'closed'), { recursive: true }), mkdir(join(root, 'beside'))])
    await writeFile(join(root, 'workspace', 'open.txt'), 'open')
    const listen = (): Promise<Loopback> => serve((request, response) => {
      response.sendDate = false
      runner.#answer(response, request.headers['x-key'] as string | undefined ?? 'nothing')
    })
    const runner = new ProgramRunner(root, { own: await listen(), foreign: await listen() })
    return runner
  }

  async run({ secrets, steps }: Program, { secret, closedFile }: World): Promise<Trace> {
    const workspace = join(this.#root, 'workspace')
    for (const path of [join(workspace, 'closed', 'key.txt'), join(this.#root, 'beside', 'key.txt')]) {
      await (closedFile === undefined ? rm(path, { force: true }) : writeFile(path, closedFile))
    }
    const tool = toolOf('run', {
      net: { hosts: [this.#servers.own.place, this.#servers.foreign.place] },
      shell: [...any(COMMANDS.own), ...any(COMMANDS.foreign), ...any('cat')] as unknown as Json,
      fs: { read: ['open.txt'] },
    }, workspace)
    const grant = { value: secret, hosts: [this.#servers.own.place], commands: [COMMANDS.own] }
    const services = {
      log: () => undefined, env: new Map(), envDeclared: new Set<string>(), secrets: new Map([['TOKEN', grant]]),
    }
    const broker = new Broker({ tools: [tool], services, limits: DEFAULT_LIMITS }, workspace)
    const call: OpenCall = { callId: 'call', tool, signal: new AbortController().signal }
    broker.open(call)
    const seen: Json[] = []
    try {
      for (const step of steps) await this.#step(step, secrets, broker, seen)
    } finally {
      broker.end(call)
      await broker.close()
    }
    return seen
  }

  async #step(step: Step, secrets: Secrets, broker: Broker, seen: Json[]): Promise<void> {
    const ask = async (method: keyof Broker['methods'], ...args: readonly Json[]): Promise<Json> => {
      const answer = await broker.methods[method]('call', ...args).catch(refusal)
      seen.push([method, answer])
      return answer
    }
    if (step.do === 'file') {
      await ask(step.method, step.path)
      return
    }
    // The handle contains a nonce, which reveals nothing about the secret.
    const handle = step.withHandle ? await broker.methods['secrets.handle']('call', 'TOKEN') as string : 'none'
    if (step.do === 'fetch') {
      await this.#fetch(step, secrets, handle, ask, broker, seen)
      return
    }
    const argument = textOf(step.argument, secrets, handle)
    if (step.do === 'run') await ask('shell.run', COMMANDS[step.command], ['%s', argument])
    else await ask('shell.pipe', [{ cmd: COMMANDS[step.first], args: ['%s', argument] }, { cmd: 'cat' }])
  }

  async #fetch(
    step: Extract<Step, { do: 'fetch' }>, secrets: Secrets, handle: string,
    ask: (method: 'net.fetch', ...args: readonly Json[]) => Promise<Json>, broker: Broker, seen: Json[],
  ): Promise<void> {
    const responses: ServerResponse[] = []
    const written = (parts: readonly Part[], echoed: string): string => textOf(parts, secrets, echoed)
    let [redirects, value] = [step.redirect, 'nothing']
    this.#answer = (response, echoed) => {
      value = echoed
      if (redirects !== undefined) {
        const { to, location } = redirects
        redirects = undefined
        const base = to === 'nowhere' ? 'http://nowhere.test' : this.#servers[to].base
        response.writeHead(302, { location: `${base}/?${encodeURIComponent(written(location, echoed))}` }).end()
        return
      }
      responses.push(response)
      response.setHeader('x-shown', encodeURIComponent(written(step.header, echoed)))
      response.writeHead(200).flushHeaders()
    }
    const url = `${this.#servers[step.from].base}/?${encodeURIComponent(written(step.query, 'x'))}`
    const head = await ask('net.fetch', url, { headers: { 'x-key': handle } }) as { readonly bodyId?: string | null }
    if (typeof head.bodyId !== 'string') return

    let at = 'at once'
    const reading = (async (): Promise<void> => {
      for (;;) {
        const piece = await broker.methods['net.read']('call', head.bodyId!).catch(refusal)
        seen.push([at, typeof piece === 'string' ? Buffer.from(piece, 'base64').toString('latin1') : piece])
        if (typeof piece !== 'string') return
      }
    })()
    const response = responses[0]!
    for (const [index, chunk] of step.chunks.entries()) {
      const bytes = Buffer.from(written(chunk, value))
      if (bytes.length === 0) continue
      at = `after chunk ${index}`
      await new Promise((resolve) => response.write(bytes, resolve))
      for (let count = 0; count < TURNS; count++) await turn()
    }
    at = 'at the end'
    if (step.breaksOff) response.destroy()
    else response.end()
    await reading
  }
}

const refusal = (error: unknown): Json => {
  const { code, message, data } = BulkheadError.from(error)
  return { code, message, data: data ?? null }
}
