import { attacksOf } from '../model/case.ts'

const attack = attacksOf('R')

/** The attacker cannot choose which memory it gets. */
const OLD_MEMORY = { alone: true, meanwhile: 'frees secrets', placements: ['process'], lucky: true } as const

/** Lets the granted host send each possible next letter in two pieces, and returns the letter that arrived in one. */
const GUESS_LETTERS = `
  const first = async (text) => {
    const { body } = await runtime.net.fetch('http://localhost:' + facts.grantedPort + '/guess/' + text)
    const pieces = []
    for await (const piece of body) pieces.push(Buffer.from(piece).toString())
    return pieces.join('|').replace(text, '')
  }
  const letters = [...'0123456789abcdef']
  const odd = async (known) => {
    const seen = await Promise.all(letters.map((letter) => first(known + letter)))
    const held = letters.filter((_, index) => seen[index] === '!')
    return held.length === 1 ? held[0] : ''
  }
  let known = 'CANARY-'
  for (let round = 0; round < 3; round++) {
    // A random difference does not occur three times.
    const [letter, again, last] = [await odd(known), await odd(known), await odd(known)]
    if (letter === again && letter === last) known += letter
  }
  return { letters: known.length === 'CANARY-'.length ? 'none' : { got: known } }
`

export const sideChannels = [
  attack(259, 'reads old memory in new buffers', `
    // Concatenated, because the text of this file also passes through buffers.
    const needle = ['CAN', 'ARY-'].join('')
    const kept = []
    for (let size = 512; size <= 65_536; size *= 2) {
      for (let round = 0; round < 120; round++) kept.push(Buffer.allocUnsafeSlow(size), Buffer.allocUnsafe(size))
    }
    return { fresh: kept.some((buffer) => buffer.includes(needle)) ? { got: true } : 'clean' }
  `, { fresh: 'clean' }, OLD_MEMORY),
  attack(260, 'reads old memory in the buffer pool', `
    const needle = ['CAN', 'ARY-'].join('')
    const kept = Array.from({ length: 12_000 }, () => Buffer.from('x'.repeat(2_000)))
    return { pool: kept.some(({ buffer }) => Buffer.from(buffer).includes(needle)) ? { got: true } : 'clean' }
  `, { pool: 'clean' }, OLD_MEMORY),
  attack(261, 'reads old memory after the output of compression', `
    const needle = ['CAN', 'ARY-'].join('')
    return {
      zlib: await attempt(async () => {
        const output = (await reach('zlib')).brotliCompressSync('x')
        return other(output.buffer.byteLength, output.length)
      }),
      stream: await attempt(() => new (use(globalThis, 'DecompressionStream'))('gzip') && 'there'),
      text: Buffer.from(new TextEncoder().encode('x').buffer).includes(needle) ? { got: true } : 'clean',
    }
  `, { zlib: 'constant', stream: 'absent', text: 'clean' }),
  attack(262, 'observes the host with performance APIs', `
    return {
      utilization: await attempt(() => use(performance, 'eventLoopUtilization')()),
      timing: await attempt(() => use(performance, 'nodeTiming') && 'there'),
      observer: await attempt(() => use(globalThis, 'PerformanceObserver') && 'there'),
      timerify: await attempt(() => use(performance, 'timerify') && 'there'),
      hooks: await attempt(async () => (await reach('perf_hooks')).monitorEventLoopDelay().enable()),
      memory: await attempt(() => use(performance, 'measureUserAgentSpecificMemory')()),
      cpu: await attempt(() => use(process, 'cpuUsage')()),
      load: await attempt(async () => other((await reach('os')).loadavg().join(), '0,0,0')),
    }
  `, {
    utilization: 'absent', timing: 'absent', observer: 'absent', timerify: 'absent', hooks: 'BuiltinDenied',
    memory: 'absent',
    cpu: 'absent', load: 'constant',
  }),
  attack(263, 'uses a counter in shared memory as a clock', `
    const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    return {
      global: await attempt(() => use(globalThis, 'SharedArrayBuffer') && 'there'),
      atomics: await attempt(() => use(globalThis, 'Atomics') && 'there'),
      counter: await attempt(async () => {
        const { Worker } = await reach('worker_threads')
        const code = 'for (;;) require("worker_threads").workerData[0]++'
        return new Worker(code, { eval: true, workerData: new Uint8Array(buffer) }).terminate()
      }),
    }
  `, { global: 'absent', atomics: 'absent', counter: 'BuiltinDenied' }),
  attack(264, 'sends messages to another compartment through locks and broadcasts', `
    return {
      locks: await attempt(() => use(use(globalThis, 'navigator'), 'locks').query()),
      broadcast: await attempt(() => new (use(globalThis, 'BroadcastChannel'))('x').close()),
      storage: await attempt(() => use(globalThis, 'sessionStorage') && 'there'),
      environment: await attempt(async () => (await reach('worker_threads')).setEnvironmentData('x', 'y')),
      symbols: await attempt(() => {
        if (Symbol.keyFor(Symbol.for('neighbour')) !== 'neighbour') return 'odd'
        throw { code: 'own thread only' }
      }),
    }
  `, {
    locks: 'absent', broadcast: 'absent', storage: 'absent', environment: 'BuiltinDenied', symbols: 'own thread only',
  }),
  attack(364, 'guesses a secret that was never sent, from the chunks of a body', GUESS_LETTERS, { letters: 'none' }, {
    requires: { net: { hosts: ['localhost:$granted', 'key.corpus.test'] } }, secretHosts: ['key.corpus.test'],
    control: 'none',
    alone: true,
  }),
  attack(365, 'guesses a secret that was sent to its host, from the chunks of the response', `
    const headers = { authorization: await runtime.secrets.handle('KEY') }
    await (await runtime.net.fetch('http://localhost:' + facts.grantedPort + '/', { headers })).text()
    ${GUESS_LETTERS}
  `, { letters: 'none' }, {
    requires: { net: { hosts: ['localhost:$granted'] } }, secretHosts: ['localhost:$granted'], control: 'none',
    alone: true,
  }),
]
