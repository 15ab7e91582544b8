import { existsSync } from 'node:fs'
import { ruleSet, SIGNAL_ABI, WALL_ABI } from './landlock.ts'
import { launcherFilter } from './filter-rules.ts'
import { launch } from './launcher.ts'

let known: Promise<number | undefined> | undefined

export function landlockAbi(): Promise<number | undefined> {
  known ??= (async () => {
    if (process.platform !== 'linux') return undefined
    const program = ['/usr/bin/true', '/bin/true'].find((path) => existsSync(path))
    const filter = launcherFilter({ sockets: 'none', processes: true, metadata: false, confinesSignals: false })
    if (program === undefined || filter === undefined) return undefined
    for (const abi of [SIGNAL_ABI, WALL_ABI]) {
      const rules = ruleSet({ run: ['/usr', '/bin', '/lib', '/lib64', '/etc/ld.so.cache'] }, {}, abi)
      const { started } = launch({ argv: [program], env: {}, wall: { rules, filter } }, ['ignore', 'ignore', 'ignore'])
      if (await started.then(() => true, () => false)) return abi
    }
    return undefined
  })()
  return known
}
