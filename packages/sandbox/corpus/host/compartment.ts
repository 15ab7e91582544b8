import { readFileSync } from 'node:fs'
import type { CompartmentRequest, CompartmentServices, CompartmentTool, LogEntry } from '@bulkhead/contract'
import { compileGrant, DEFAULT_LIMITS } from '@bulkhead/contract'
import { requirementSet } from '@bulkhead/contract/validation'
import type { Attack, AttackPlacement } from '../model/case.ts'
import type { Facts } from '../target/facts.ts'

const read = (name: string): string => readFileSync(new URL(`../extensions/${name}`, import.meta.url), 'utf8')
const dispatch = read('dispatch.js')
const attacker = read('attacker.js')

/** Little memory, so that attacks reach the limit soon, and much time, because other work may slow this machine. */
const LIMITS = { ...DEFAULT_LIMITS, memoryMb: 320, graceMs: 100, phaseMs: 20_000, startMs: 20_000 }
/** A process contains a full heap of any size. A thread does not, and what happens then depends on the size. */
const HEAP_MB = { process: 24, thread: 64 }

export interface Place {
  readonly workspace: string
  readonly secret: string
  readonly facts: Facts
  readonly placement: AttackPlacement
  readonly log: (entry: LogEntry) => void
  readonly interact?: NonNullable<CompartmentServices['interact']>
}

/** The compartment of one attack, or of several that do not disturb each other. */
export function requestFor(attacks: readonly Attack[],
  { workspace, secret, facts, placement, log, interact }: Place): CompartmentRequest {
  const [first] = attacks
  return {
    extension: { id: 'attacker', version: '1.0.0', layer: 'global' },
    placement,
    code: { kind: 'files', main: './index.js', files: filesOf(attacks) },
    tools: [toolOf(first!, workspace, facts)],
    config: {},
    limits: { ...LIMITS, heapMb: HEAP_MB[placement], ...first!.limits },
    // The variable has a value here, but the manifest of the attacker declares another one.
    services: {
      log, env: new Map([['CANARY', secret]]), envDeclared: new Set(['DECLARED']), ...(interact && { interact }),
      ...(first!.secretHosts.length > 0 && {
        secrets: new Map([['KEY', { value: secret, hosts: withPorts(first!.secretHosts, facts), commands: [] }]]),
      }),
    },
  }
}

const IMPORTS = "import { attempt, event, library, other, reach, real, codeOf, use } from './attacker.js'\n"
const moduleOf = (given: string, body: string): string => `export default async (facts, ${given}) => {\n${body}\n}\n`

function filesOf(attacks: readonly Attack[]): ReadonlyMap<string, Uint8Array> {
  const texts = new Map<string, string | Uint8Array>([['index.js', dispatch], ['attacker.js', attacker]])
  for (const { id, body, files, in: inside } of attacks) {
    texts.set(`attack-${id}.js`, inside === 'wire' ? moduleOf('wire', body) : IMPORTS + moduleOf('runtime', body))
    for (const [path, content] of Object.entries(files)) texts.set(path, content)
  }
  return new Map([...texts].map(([path, content]) => [path, Buffer.from(content as string)]))
}

const withPorts = <T>(declared: T, { grantedPort, port }: Facts): T =>
  JSON.parse(
    JSON.stringify(declared).replaceAll('$granted', String(grantedPort)).replaceAll('$canary', String(port)),
  ) as T

function toolOf({ requires: declared }: Attack, workspace: string, facts: Facts): CompartmentTool {
  const requires = withPorts(declared, facts)
  return {
    name: 'run',
    requires,
    inputSchema: { type: 'object' },
    grant: compileGrant(requirementSet.parse(requires), { workspace: [workspace] }),
  }
}
