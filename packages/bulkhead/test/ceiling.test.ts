import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ceiling } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { has } from '../../../scripts/machine.ts'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { createHost, type CreateHostOptions, type SessionOptions } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'
import { joined } from './joined.ts'

let folder: string
let places: readonly string[]
const closing: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-ceiling-')))
  for (const name of ['src', 'docs']) mkdirSync(join(folder, name))
  for (const name of ['src/a.ts', 'docs/b.md', 'c.txt']) writeFileSync(join(folder, name), `needle in ${name}\n`)
  if (has('git')) execFileSync('git', ['init', '-q'], { cwd: folder })
  const server = createServer((_, response) => response.setHeader('content-type', 'text/plain').end('here')).listen(
    0, '0.0.0.0',
  )
  await once(server, 'listening')
  closing.push(async () => void server.close())
  places = ['127.0.0.1', '127.0.0.2'].map((host) => `${host}:${(server.address() as AddressInfo).port}`)
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
  rmSync(folder, { recursive: true })
})

/** A host that reaches two servers, with both kinds of ceiling. */
async function opened(
  policy: Ceiling | undefined, session: SessionOptions = {}, options: Partial<CreateHostOptions> = {},
) {
  const config = { mode: 'yolo' as const, ...options.config, ...(policy && { policy: { ceiling: policy } }) }
  const host = await createHost({
    workspace: folder, home: join(folder, 'home'), cache: CACHE, trust: 'declined', fetchHosts: ['*', ...places],
    ...options, config,
  })
  closing.push(() => host.close())
  return { host, session: await host.openSession(session) }
}

const GIT: Ceiling = { shell: [{ cmd: 'git', args: [{ rest: true }] }] }

/** Calls, and the power that each needs. */
const CALLS = [
  ['read', { path: 'src/a.ts' }, 'read src'], ['read', { path: 'c.txt' }, 'read root'],
  ['write', { path: 'src/new.ts', content: 'x' }, 'write src'],
  ['write', { path: 'docs/new.md', content: 'x' }, 'write docs'],
  ['grep', { pattern: 'needle', path: 'src' }, 'read src'], ['glob', { pattern: '*', path: 'docs' }, 'read docs'],
  ['web_fetch', { url: 'http://$0/' }, 'reach 0'], ['web_fetch', { url: 'http://$1/' }, 'reach 1'],
  ['bash', { command: 'git status --short' }, 'run git'], ['bash', { command: 'ls' }, 'run ls'],
  ['bash', { command: 'git status | cat' }, 'run git, cat'], ['bash', { command: 'ls > docs/out' }, 'run ls'],
  ['bash', { command: 'for x in 1; do echo $x; done; echo `ls`' }, 'run a shell'],
  ['todo', { todos: [{ content: 'x', status: 'pending' }] }, 'session'],
] as const

describe('a ceiling', () => {
  const outcomes = async (policy: Ceiling | undefined, session: SessionOptions = {}) => {
    const { session: open } = await opened(policy, session)
    const allowed: string[] = []
    for (const [index, [name, args, needs]] of CALLS.entries()) {
      const filled = JSON.parse(JSON.stringify(args).replace('$0', places[0]!).replace('$1', places[1]!)) as object
      const outcome = await open.call({ id: `c${index}`, name, arguments: filled })
      if (outcome.type === 'output') allowed.push(needs)
      else expect(outcome.error.code, `${name} ${JSON.stringify(args)}: ${outcome.error_text}`).toBe('CapabilityDenied')
    }
    return [...new Set(allowed)]
  }
  const places0 = () => ({ net: { hosts: [places[0]!] } })

  // `npm test` takes one kind from both, and `pnpm soak` each.
  it.each<[string, () => Ceiling, readonly string[], 'both' | 'config' | 'session']>([
    ['hosts', places0, ['reach 0'], 'config'],
    ['commands', () => GIT, ['run git'], 'session'],
    ['paths', () => ({ fs: { read: ['src/**'], write: ['src/**'] } }), ['read src', 'write src'], 'both'],
    ['overlapping patterns', () => ({ fs: { read: ['**/*.ts', 'docs'] } }), ['read src', 'read docs'], 'config'],
    ['nothing', () => ({}), [], 'session'],
    ['capabilities', () => ({ capabilities: ['session'] }), ['session'], 'config'],
  ])('limits to %s, from the configuration or from a session', async (_, ceiling, allowed, sampled) => {
    const from = thoroughly(sampled, 'both')
    if (from !== 'session') expect(await outcomes(ceiling())).toEqual(allowed)
    if (from !== 'config') expect(await outcomes(undefined, { ceiling: ceiling() })).toEqual(allowed)
  })

  it('combined with another allows only the overlap', async () => {
    expect(
      await outcomes({ fs: { read: ['src/**', 'docs/**'] } }, { ceiling: { fs: { read: ['src/**', 'c.txt'] } } }),
    ).toEqual(['read src'])
  })

  it('limits listings and explain', async () => {
    mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
    writeFileSync(
      join(folder, 'home/.bulkhead/config.json'),
      JSON.stringify({
        policy: { ceiling: { ...GIT, fs: { read: ['src/**'] }, net: { hosts: ['docs.example.com'] } } },
      }),
    )
    const { stdout } = await inside(['tools', '--powers'], folder)
    const [powers = ''] = stdout.split('\n\n')
    expect(
      powers
        .split('\n')
        .map((line) => line.trim().replace(/ {2,}/, ' | '))
        .filter((line) => line !== ''),
    ).toEqual([
      'MAY | TOOLS',
      expect.stringMatching(/^reaches docs\.example\.com \| bash, http_request, .*web_fetch$/),
      expect.stringMatching(
        /^reads \{workspace\}\/\*\*\/\.\* within \{workspace\}\/src\/\*\* \| .*edit, glob, list, .*read/,
      ),
      expect.stringMatching(/^reads \{workspace\}\/src\/\*\* \| .*bash, edit, git, glob, grep, .*read/),
      expect.stringMatching(/^runs git … \| bash, git/),
      'starts sub-agents | task',
    ])
    const { stdout: explained } = await inside(
      ['explain', 'web_fetch', '--args', '{"url":"https://evil.example/"}'], folder,
    )
    expect(explained).toMatch(/^web_fetch would be denied \(CapabilityDenied\)/)
    expect(explained).toMatch(joined(
      /capability +deny +policy\.ceiling of \S+config\.json +it may reach beyond the policy\.ceiling of /,
      /\S+config\.json: reach evil\.example:443/,
    ))
    const { stdout: other } = await inside(
      ['explain', 'web_fetch', '--mode', 'yolo', '--args', '{"url":"https://docs.example.com/"}'], folder,
    )
    expect(other).toMatch(/^web_fetch would be allowed/)
    expect(other).toMatch(/capability +pass +ceiling +under the ceiling it may reach docs\.example\.com/)
  })
})
