import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'

const PUBLIC = '93.184.216.34'
const PRIVATE = '127.0.0.1'

/**
 * Resolves the names of an attacker as the attacker's DNS server would. Replaces the resolver of the whole process,
 * which is the host under attack.
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
