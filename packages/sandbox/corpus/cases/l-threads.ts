import { attacksOf } from '../model/case.ts'

const attack = attacksOf('L')

/** Finds the internal port of a worker through its streams, then sends one message to Node's code in the parent. */
const toParent = (message: string): string => `
  const port = () => {
    const streams = [() => process.stdout, () => process.stderr, () => process.stdin, () => console._stdout,
      () => console._stderr]
    for (const stream of streams) {
      try {
        for (let at = stream(); at; at = Object.getPrototypeOf(at)) {
          const symbol = Object.getOwnPropertySymbols(at).find((key) => key.description === 'kPort')
          if (symbol) return at[symbol]
        }
      } catch {}
    }
    throw { code: 'absent' }
  }
  return { port: await attempt(async () => {
    port().postMessage(${message})
    await new Promise((later) => setTimeout(later, 300))
    return 'posted'
  }) }
`
const ABSENT = { port: 'absent' }

export const threads = [
  attack(145, 'sends an unknown type of message to the parent thread', toParent("{ type: 'zzz' }"), ABSENT),
  attack(146, 'sends an empty message to the parent thread', toParent('null'), ABSENT),
  attack(147, 'writes output to a stream named __proto__',
    toParent("{ type: 'stdioPayload', stream: '__proto__', chunks: [{ chunk: 'x', encoding: 'utf8' }] }"), ABSENT),
  attack(148, 'writes output to a stream that does not exist',
    toParent("{ type: 'stdioPayload', stream: 'nowhere', chunks: [{ chunk: 'x', encoding: 'utf8' }] }"), ABSENT),
  attack(149, 'requests more data from the parent thread', toParent(
    "{ type: 'stdioWantsMoreData', stream: 'nowhere' }",
  ), ABSENT),
  attack(150, 'sends an error report that cannot be deserialized', toParent(
    "{ type: 'errorMessage', error: new Uint8Array([255, 255, 255]) }",
  ),
    ABSENT),
  attack(151, 'sends an empty error report', toParent("{ type: 'errorMessage', error: null }"), ABSENT),
  attack(152, 'broadcasts a message to the host', `
    return { broadcast: await attempt(async () => {
      const channel = new (use(globalThis, 'BroadcastChannel'))('corpus')
      channel.postMessage('to whom it may concern')
      await new Promise((later) => setTimeout(later, 100))
      channel.close()
      return 'sent'
    }) }
  `, { broadcast: 'absent' }),
  attack(153, 'broadcasts a message to another compartment', `
    return {
      global: await attempt(async () => {
        const Channel = use(globalThis, 'BroadcastChannel')
        const [mine, theirs] = [new Channel('plugins'), new Channel('plugins')]
        const received = new Promise((resolve) => { theirs.onmessage = ({ data }) => resolve(data) })
        mine.postMessage('ping')
        const data = await received
        mine.close()
        theirs.close()
        return data
      }),
      module: await attempt(async () => typeof (await reach('worker_threads')).BroadcastChannel),
    }
  `, { global: 'absent', module: 'BuiltinDenied' }),
  attack(154, 'sends a message to the main thread', `
    return { message: await attempt(async () => {
      await (await reach('worker_threads')).postMessageToThread(0, 'to whom it may concern')
      return 'sent'
    }) }
  `, { message: 'BuiltinDenied' }),
  attack(155, 'takes locks shared by all threads', `
    return { lock: await attempt(() =>
      use(use(globalThis, 'navigator'), 'locks').request('corpus', { ifAvailable: true },
      (lock) => lock.name)) }
  `, { lock: 'absent' }),
  attack(156, 'reaches the streams behind the console', `
    return {
      stdout: await attempt(() => use(console, '_stdout') && 'there'),
      stderr: await attempt(() => use(console, '_stderr') && 'there'),
      make: await attempt(() => use(console, 'Console') && 'there'),
      module: await attempt(async () => typeof (await reach('console')).Console),
      process: await attempt(() => other(Object.getPrototypeOf(use(process, 'stdout')), Object.prototype)),
      raw: await attempt(() => use(process, '_rawDebug')('forged line')),
      replace: await attempt(() => { console.log = () => {}; return 'replaced' }),
    }
  `, {
    stdout: 'absent', stderr: 'absent', make: 'absent', module: 'BuiltinDenied', process: 'constant', raw: 'absent',
    replace: 'TypeError',
  }),
  attack(312, 'sends ports inside transferred streams and signals', `
    const ports = (value) => attempt(() => {
      let key
      for (let at = value; at && !key; at = Object.getPrototypeOf(at)) {
        key = Object.getOwnPropertySymbols(at).find(({ description }) =>
          description === 'messaging_transfer_list_symbol')
      }
      if (key === undefined) throw { code: 'absent' }
      return value[key]().filter((port) => typeof port.postMessage === 'function').length
    })
    return {
      readable: await ports(new ReadableStream()), writable: await ports(new WritableStream()),
      transform: await ports(new TransformStream()), signal: await ports(new AbortController().signal),
    }
  `, { readable: 'absent', writable: 'absent', transform: 'absent', signal: 'absent' }),
  attack(313, 'uses other globals of browsers and newer versions of Node', `
    const names = ['WebSocket', 'EventSource', 'MessageEvent', 'CloseEvent',
      'BroadcastChannel', 'MessageChannel', 'MessagePort', 'Worker', 'navigator', 'Navigator', 'Storage',
      'localStorage', 'CompressionStream', 'DecompressionStream', 'Atomics', 'SharedArrayBuffer', 'PerformanceObserver',
      'CryptoKey', 'SubtleCrypto', 'ShadowRealm', 'Blob', 'File', 'URLPattern', 'require', 'module']
    const there = names.filter((name) => typeof globalThis[name] !== 'undefined')
    const marks = ['mark', 'measure', 'getEntries', 'eventLoopUtilization',
      'nodeTiming'].filter((name) => name in performance)
    return { there: there.length + marks.length > 0 ? { got: [...there, ...marks] } : 'none' }
  `, { there: 'none' }),
]
