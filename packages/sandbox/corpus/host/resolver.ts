import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'

const PUBLIC = '93.184.216.34'
const PRIVATE = '127.0.0.1'

/**
 * The names of an attacker, as a resolver of his would answer them. Only this process is told; it is the host under
 * attack and lives no longer than the attack.
 */
export function ownNames(): void {
  const asked = new Map<string, number>()
  const system = dns.lookup.bind(dns)
  const answers: ReadonlyMap<string, (time: number) => readonly string[]> = new Map([
    ['private.corpus.test', () => [PRIVATE]],
    ['mixed.corpus.test', () => [PUBLIC, PRIVATE]],
    ['rebind.corpus.test', (time: number) => [time === 1 ? PUBLIC : PRIVATE]],
  ])
  const lookup = async (host: string, options: object): Promise<unknown> => {
    const answer = answers.get(host)
    if (answer === undefined) return system(host, options as never)
    const time = (asked.get(host) ?? 0) + 1
    asked.set(host, time)
    return answer(time).map((address) => ({ address, family: 4 }))
  }
  Object.assign(dns, { lookup })
  syncBuiltinESMExports()
}
