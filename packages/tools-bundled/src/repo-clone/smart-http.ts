import { type Net, type NetResponse, ToolError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { knownFault } from '../model/git-errors.ts'
import { DELIMITER, FLUSH, lineOf, type Packet, readPackets, writePackets } from './pkt-line.ts'

/** What a server offers. */
export interface RemoteRefs {
  readonly head: string | undefined
  /** The branch that HEAD names. */
  readonly branch: string | undefined
  /** Hashes by full name. Names that git would refuse are left out. */
  readonly refs: ReadonlyMap<string, string>
}

export interface ReceivedPack {
  readonly pack: Buffer
  /** Commits whose parents are not in the pack. */
  readonly shallow: readonly string[]
}

const HASH = /^[0-9a-f]{40}$/
/** One character of a name that is no part of git's syntax. */
const REF = /^refs\/(?:heads|tags)\/[^\p{Cc}\s~^:?*[\\\u007F]+$/u
export const isRefName = (name: string): boolean =>
  REF.test(name) && !/\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|[./]$|\/-/.test(name)

const CAPABILITIES = ['agent=bulkhead', 'object-format=sha1']
const BRANCHES = 'refs/heads/'

/** Speaks version 2 of git's protocol over http, through the host's network check. */
export class SmartHttp {
  readonly #net: Net
  #url: URL

  constructor(net: Net, url: URL) {
    this.#net = net
    this.#url = url
  }

  /** Rejects with NotFound or ToolExecutionFailed if the URL is not a repository that anyone may read. */
  async refs(): Promise<RemoteRefs> {
    await this.#greet()
    const prefixes = ['HEAD', 'refs/heads/', 'refs/tags/'].map((prefix) => `ref-prefix ${prefix}`)
    const lines = await this.#command('ls-refs', ['symrefs', ...prefixes])
    const refs = new Map<string, string>()
    let head: string | undefined
    let target: string | undefined
    for (const packet of lines.filter((line) => typeof line !== 'string')) {
      const [hash = '', name = '', ...attributes] = lineOf(packet).split(' ')
      if (!HASH.test(hash)) continue
      if (name === 'HEAD') {
        head = hash
        target = attributes.find((attribute) => attribute.startsWith('symref-target:'))?.slice('symref-target:'.length)
      } else if (isRefName(name)) refs.set(name, hash)
    }
    const isBranch = target !== undefined && target.startsWith(BRANCHES) && isRefName(target)
    return { head, branch: isBranch ? target!.slice(BRANCHES.length) : undefined, refs }
  }

  async pack(wants: readonly string[], depth: number | undefined): Promise<ReceivedPack> {
    const packets = await this.#command('fetch', [
      'ofs-delta', 'no-progress', ...(depth === undefined ? [] : [`deepen ${depth}`]),
      ...new Set(wants.map((hash) => `want ${hash}`)), 'done',
    ])
    const shallow: string[] = []
    const parts: Buffer[] = []
    let section = ''
    for (const packet of packets) {
      if (typeof packet === 'string') section = ''
      else if (section === '') section = lineOf(packet)
      else if (section === 'shallow-info') shallow.push(lineOf(packet).replace(/^shallow /, ''))
      else if (section === 'packfile' && packet[0] === DATA) parts.push(packet.subarray(1))
      else if (section === 'packfile' && packet[0] === FATAL) throw this.#refused(lineOf(packet.subarray(1)))
    }
    if (parts.length === 0) throw this.#refused('it sent no objects')
    return { pack: Buffer.concat(parts), shallow: shallow.filter((hash) => HASH.test(hash)) }
  }

  /** Learns the version of the protocol, and follows a redirect of the same host, as git does. */
  async #greet(): Promise<void> {
    for (let hops = 0; hops <= REDIRECTS; hops++) {
      const response = await this.#fetch('/info/refs?service=git-upload-pack', undefined)
      const location = response.headers['location']
      if (response.status >= 300 && response.status < 400 && location !== undefined) {
        this.#redirect(location)
        continue
      }
      const packets = readPackets(await this.#body(response))
      const lines = packets?.filter((packet) => typeof packet !== 'string').map(lineOf) ?? []
      if (lines.includes('version 2') && !lines.some((line) => /^object-format=(?!sha1$)/.test(line))) return
      throw this.#refused('it does not speak version 2 of git\'s protocol with SHA-1')
    }
    throw this.#refused(`it redirects more than ${REDIRECTS} times`)
  }

  #redirect(location: string): void {
    const next = URL.parse(location, this.#url)
    const suffix = '/info/refs'
    const isSame = next !== null && next.hostname === this.#url.hostname && next.protocol === this.#url.protocol
    if (!isSame || !next.pathname.endsWith(suffix)) {
      throw this.#refused(`it redirects to ${next?.origin ?? 'another place'}. To follow it, clone from there`)
    }
    next.pathname = next.pathname.slice(0, -suffix.length)
    next.search = ''
    this.#url = next
  }

  async #command(name: string, args: readonly string[]): Promise<readonly Packet[]> {
    const body = writePackets([`command=${name}`, ...CAPABILITIES, DELIMITER, ...args, FLUSH])
    const packets = readPackets(await this.#body(await this.#fetch('/git-upload-pack', body)))
    if (packets === undefined) throw this.#refused('its answer is incomplete')
    const fault = packets.find((packet) => typeof packet !== 'string' && packet.toString('latin1', 0, 4) === 'ERR ')
    if (fault !== undefined) {
      const reason = lineOf(fault as Buffer).slice(4)
      throw knownFault(reason) ?? this.#refused(reason)
    }
    return packets
  }

  #fetch(path: string, body: string | undefined): Promise<NetResponse> {
    const type = 'application/x-git-upload-pack'
    return this.#net.fetch(`${this.#url.href.replace(/\/$/, '')}${path}`, {
      redirect: 'manual',
      headers: {
        'git-protocol': 'version=2', 'user-agent': 'git/2 (bulkhead)',
        ...(body === undefined ? {} : { 'content-type': `${type}-request`, 'accept': `${type}-result` }),
      },
      ...(body === undefined ? {} : { method: 'POST', body: Buffer.from(body) }),
    })
  }

  async #body(response: NetResponse): Promise<Buffer> {
    const { status } = response
    if (status === 404 || status === 410) throw new ToolError('NotFound', `${this.#url.href} does not exist.`)
    if (status === 401 || status === 403) throw this.#refused('it requires a sign-in, and no credentials are sent')
    if (status !== 200) throw this.#refused(`status ${status}`)
    try {
      return Buffer.from(await response.bytes())
    } catch (error) {
      if (errorCode(error) !== 'OutputTooLarge') throw error
      throw this.#refused('the repository is too large. Pass "depth": 1 to clone only the last commit')
    }
  }

  #refused(why: string): ToolError {
    return new ToolError('ToolExecutionFailed', `${this.#url.hostname} did not send the repository: ${why}.`)
  }
}

const DATA = 1
const FATAL = 3
const REDIRECTS = 3
