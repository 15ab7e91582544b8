import { attacksOf, refused } from '../model/case.ts'
import { BROKEN_OUT } from './f-network.ts'

const attack = attacksOf('H')

const kill = (call: string): string => `
  return { kill: await attempt(async () => {
    use(process, 'kill')(${call})
    await new Promise((later) => setTimeout(later, 300))
    return 'sent'
  }) }
`
const ABSENT = { kill: 'absent' }

export const signals = [
  attack(379, 'uses signals and privileges from code that has escaped from Node, without bubblewrap', `
    const held = (outcome) => typeof outcome === 'string' ? 'refused' : outcome
    const { readFileSync, writeFileSync } = await library('fs')
      .then((fs) => ({
        readFileSync: (...given) => fs.readFileSync(...given), writeFileSync: (...given) => fs.writeFileSync(...given),
      }))
    const status = (field) =>
      readFileSync('/proc/self/status', 'latin1').match(new RegExp('^' + field + ':\\\\s+(.*)$', 'm'))[1]
    const unless = (value, none) => {
      if (value === none) throw { code: 'none' }
      return value
    }
    return {
      signal: held(await attempt(() => use(process, 'kill')(facts.hostPid, 0))),
      environment: held(await attempt(() => readFileSync('/proc/' + facts.hostPid + '/environ', 'latin1'))),
      score: held(await attempt(() => writeFileSync('/proc/' + facts.hostPid + '/oom_score_adj', '1000'))),
      capabilities: held(await attempt(() => unless(status('CapEff') + status('CapPrm'), '0'.repeat(32)))),
      gained: held(await attempt(() => unless(status('NoNewPrivs'), '1'))),
    }
  `, {
    signal: 'refused', environment: 'refused', score: 'refused', capabilities: 'refused', gained: 'refused',
  }, BROKEN_OUT),
  attack(88, 'sends SIGKILL to its own process', kill("process.pid, 'SIGKILL'"), ABSENT),
  attack(89, 'sends SIGUSR1, which opens the inspector of the process', kill("process.pid, 'SIGUSR1'"), ABSENT),
  attack(90, 'sends SIGUSR2', kill("process.pid, 'SIGUSR2'"), ABSENT),
  // Signal 0, because an attack that succeeds must not kill the runner.
  attack(91, 'sends signals to the host and its parent', `
    return {
      host: await attempt(() => use(process, 'kill')(facts.hostPid, 'SIGKILL')),
      parent: await attempt(() => use(process, 'kill')(use(process, 'ppid'), 0)),
      pid: await attempt(() => other(use(process, 'pid'), 1)),
    }
  `, { host: 'absent', parent: 'absent', pid: 'constant' }),
  // Signal 0 reaches every process and does no harm.
  attack(92, 'sends a signal to all processes', kill('-1, 0'), ABSENT),
  attack(93, 'calls process.exit', 'process.exit(0)',
    [['call', refused('CompartmentCrashed')], ['ended', refused('CompartmentCrashed')]], {
    alone: true, control: 'inert',
  }),
  attack(94, 'calls process.reallyExit', `
    return { reallyExit: await attempt(() => use(process, 'reallyExit')(0)),
      inner: await attempt(() => use(process, '_kill')(0, 9)) }
  `, { reallyExit: 'absent', inner: 'absent' }, { control: 'inert' }),
  attack(95, 'calls process.abort', `
    return {
      abort: await attempt(() => use(process, 'abort')()),
      cause: await attempt(() => use(process, 'causeSegfault')()),
    }
  `, { abort: 'absent', cause: 'absent' }, { control: 'inert' }),
  attack(96, 'changes the working folder', `
    return {
      chdir: await attempt(() => use(process, 'chdir')('/')),
      uid: await attempt(() => use(process, 'setuid')(65534)),
    }
  `, { chdir: 'absent', uid: 'absent' }, { control: 'inert' }),
  attack(97, 'changes the file mode mask', `
    return { umask: await attempt(() => use(process, 'umask')(0)) }
  `, { umask: 'absent' }, { control: 'inert' }),
  attack(98, 'changes the priority', `
    return {
      priority: await attempt(async () => (await reach('os')).setPriority(0, 10)),
      facts: await attempt(async () => other((await reach('os')).userInfo().username, 'tool')),
      interfaces: await attempt(async () => other(Object.keys((await reach('os')).networkInterfaces()).join(), '')),
    }
  `, { priority: 'BuiltinDenied', facts: 'constant', interfaces: 'constant' }),
  attack(99, 'changes the process title', `
    return {
      title: await attempt(() => {
        use(process, 'title')
        process.title = 'forged'
        if (process.title !== 'forged') throw { code: 'unchanged' }
        return 'forged'
      }),
      argv: await attempt(() => use(process.argv, 0)),
      execPath: await attempt(() => other(use(process, 'execPath'), 'node')),
    }
  `, { title: 'TypeError', argv: 'absent', execPath: 'constant' }),
  attack(100, 'reads a diagnostic report, which contains the environment of the host', `
    return {
      report: await attempt(() => {
        const report = use(process, 'report')
        report.excludeEnv = false
        return JSON.stringify(report.getReport().environmentVariables)
      }),
      memory: await attempt(() => use(process, 'memoryUsage')().rss),
      usage: await attempt(() => use(process, 'resourceUsage')().maxRSS),
      handles: await attempt(() => use(process, '_getActiveHandles')().length),
      config: await attempt(() => use(process, 'config') && 'there'),
    }
  `, { report: 'absent', memory: 'absent', usage: 'absent', handles: 'absent', config: 'absent' }),
  attack(319, 'uses members that newer versions add to process', `
    const names = ['permission', 'report', 'finalization', 'ref', 'unref', 'constrainedMemory', 'availableMemory',
      'resourceUsage', 'threadCpuUsage', 'cpuUsage', 'memoryUsage', 'getActiveResourcesInfo', 'sourceMapsEnabled',
      'setSourceMapsEnabled', 'addUncaughtExceptionCaptureCallback', 'getBuiltinModule', 'loadEnvFile', 'execve',
      'openStdin',
      'allowedNodeEnvironmentFlags']
    const there = names.filter((name) => name in process)
    return { there: there.length > 0 ? { got: there } : 'none' }
  `, { there: 'none' }),
]
