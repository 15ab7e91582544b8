import { attacksOf } from '../model/case.ts'

const attack = attacksOf('G')

const by = (module: string, work: string): string => `
  const made = facts.outside + '/made'
  return { ambient: await attempt(async () => {
    const module = await reach('${module}')
    ${work}
  }) }
`
const DENIED = { ambient: 'BuiltinDenied' }
/** A child process that leaves a file. */
const MARK = "'require(\"fs\").writeFileSync(' + JSON.stringify(made) + ', \"\")'"

export const processes = [
  attack(74, 'starts a process with spawn', by(
    'child_process', "return module.spawnSync('/bin/sh', ['-c', 'touch ' + made]).status",
  ), DENIED),
  attack(75, 'starts a process with exec',
    by('child_process', "return module.execSync('touch ' + made + '; echo done').toString()"), DENIED),
  attack(76, 'starts a process with fork', by('child_process', `
    return event(module.fork('/dev/null', [], { execArgv: ['-e', ${MARK}], stdio: 'ignore' }), 'exit')
  `), DENIED),
  attack(77, 'starts a process with cluster', by('cluster', `
    module.setupPrimary({ exec: '/dev/null', execArgv: ['-e', ${MARK}], silent: true })
    return event(module.fork(), 'exit')
  `), DENIED),
  attack(78, 'starts a thread', by('worker_threads', `
    return event(new module.Worker('require("worker_threads").parentPort.postMessage("runs")', { eval: true }),
      'message')
  `), DENIED),
  attack(79, 'starts a thread without the permission model of Node', by('worker_threads', `
    const path = JSON.stringify(facts.outside + '/secret.txt')
    const code = 'require("worker_threads").parentPort.postMessage(require("fs").readFileSync(' + path + ', "utf8"))'
    return event(new module.Worker(code, { eval: true, execArgv: [], env: module.SHARE_ENV }), 'message')
  `), DENIED),
  attack(80, 'loads a shared library', `
    const load = (path) => {
      try { return use(process, 'dlopen')({ exports: {} }, path) } catch (error) {
        if (/self-register/.test(error.message)) return 'its initialisers ran'
        throw error
      }
    }
    return {
      libm: await attempt(() => load('libm.so.6')),
      missing: await attempt(() => load(facts.outside + '/missing.node')),
    }
  `, { libm: 'absent', missing: 'absent' }),
  attack(81, 'loads a native module', `
    return {
      require: await attempt(async () => {
        try { return (await reach('module')).createRequire('/')('libm.so.6.node') } catch (error) {
          if (error.code === 'MODULE_NOT_FOUND') return 'looked for'
          throw error
        }
      }),
      bare: await attempt(() => require('./addon.node')),
      own: await attempt(() => import('./addon.node')),
      bytes: await attempt(() => import('./addon.js')),
    }
  `, { require: 'BuiltinDenied', bare: 'ReferenceError', own: 'ModuleNotFound', bytes: 'SyntaxError' }, {
    files: { 'addon.node': '\u007fELF', 'addon.js': '\u007fELF' },
  }),
  attack(82, 'replaces the process by another program', `
    return { execve: await attempt(() =>
      use(process, 'execve')('/bin/sh', ['sh', '-c', 'touch ' + facts.outside + '/made'],
      {})) }
  `, { execve: 'absent' }, { control: 'inert' }),
  attack(83, 'opens the root folder through WASI', by('wasi', `
    const wasi = new module.WASI({ version: 'preview1', preopens: { '/': '/' } })
    return typeof wasi.wasiImport.path_open
  `), DENIED),
  attack(84, 'calls native code through FFI', `
    return { ffi: await attempt(async () => {
      const ffi = await reach('ffi')
      return ffi.dlopen('libc.so.6', { getpid: { result: 'int32', parameters: [] } }) && 'open'
    }) }
  `, { ffi: 'BuiltinDenied' }),
  attack(85, 'uses the internal binding of the file system', `
    return {
      fs: await attempt(() => typeof use(process, 'binding')('fs').open),
      internal: await attempt(() => typeof use(globalThis, 'internalBinding')('fs')),
      loader: await attempt(() => use(process, 'moduleLoadList').length),
    }
  `, { fs: 'absent', internal: 'absent', loader: 'absent' }),
  attack(86, 'uses the internal binding of child processes', `
    return { spawn: await attempt(() => use(process, 'binding')('spawn_sync').spawn({
      file: '/bin/sh', args: ['sh', '-c', 'touch ' + facts.outside + '/made'], stdio: [],
    }).status) }
  `, { spawn: 'absent' }),
  attack(87, 'uses a linked binding', `
    return { linked: await attempt(() => {
      try { return use(process, '_linkedBinding')('corpus') } catch (error) {
        if (/No such binding/.test(error.message)) return 'looked for'
        throw error
      }
    }) }
  `, { linked: 'absent' }),
  attack(266, 'runs commands beyond those that were granted', `
    const run = (cmd, args, options) => attempt(async () => (await runtime.shell.run(cmd, args, options)).stdout)
    return {
      granted: (await runtime.shell.run('echo', ['fine'])).stdout.trim(),
      other: await run('cat', [facts.outside + '/secret.txt']), path: await run('/bin/echo', ['fine']),
      dots: await run('../bin/echo', ['fine']),
      more: await run('echo', ['fine', 'more']),
      joined: await run('echo', ['fine; cat ' + facts.outside + '/secret.txt']),
      shell: await run('echo fine; cat', [facts.outside + '/secret.txt']), option: await run('echo', ['-e']),
      folder: await run('echo', ['fine'], { cwd: facts.outside }), nul: await run('echo', ['fine\\0']),
      none: await run('', []),
    }
  `, {
    granted: 'fine', other: 'CapabilityDenied', path: 'CapabilityDenied', dots: 'CapabilityDenied',
    more: 'CapabilityDenied',
    joined: 'CapabilityDenied', shell: 'CapabilityDenied', option: 'CapabilityDenied', folder: 'CapabilityDenied',
    nul: 'InputInvalid',
    none: 'CapabilityDenied',
  }, { requires: { shell: [{ cmd: 'echo', args: ['fine'] }] }, control: 'none' }),
]
