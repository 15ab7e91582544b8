import { attacksOf, refused, returned } from '../model/case.ts'
import type { Attack } from '../model/case.ts'

const attack = attacksOf('M', { in: 'wire', alone: true })

/** The first violation of the protocol ends the compartment. */
const KILLED: Attack['script'] = [['call', refused('BoundaryViolation')], ['ended', refused('BoundaryViolation')]]

const OWNED = "'globalThis.corpusOwned = 1'"
const construct = (...path: readonly string[]): string => `await wire.construct(${JSON.stringify(path)}, ${OWNED})`
const set = (...path: readonly string[]): string =>
  `wire.ask({ type: 'SET', path: ${JSON.stringify(path)}, value: wire.raw(1) })`
const apply = (rest: string): string => `wire.ask({ type: 'APPLY', path: ['progress'], ${rest} })`

export const wire = [
  attack(157, 'sends CONSTRUCT for the constructor of the constructor',
    construct('constructor', 'constructor'), KILLED),
  attack(158, 'sends CONSTRUCT for the constructor of a method', construct('progress', 'constructor'), KILLED),
  attack(159, 'sends CONSTRUCT through __proto__', construct('progress', '__proto__', 'constructor'), KILLED),
  attack(160, 'sends CONSTRUCT through toString', construct('toString', 'constructor'), KILLED),
  attack(161, 'sends CONSTRUCT through __defineGetter__', construct('__defineGetter__', 'constructor'), KILLED),
  attack(
    162, 'sends CONSTRUCT through call and bind',
    `
    ${construct('progress', 'bind', 'constructor')}
    ${construct('progress', 'call', 'constructor')}
  `,
    KILLED,
  ),
  attack(
    163, 'passes a callback by proxy', apply("argumentList: [{ type: 'HANDLER', name: 'proxy', value: {} }]"), KILLED,
  ),
  attack(164, 'sends SET for a key of __proto__', set('__proto__', 'polluted'), KILLED),
  attack(165, 'sends SET for a key of the prototype of the constructor',
    set('constructor', 'prototype', 'polluted'), KILLED),
  attack(166, 'sends SET for a key of the prototype of functions', set('progress', '__proto__', 'polluted'), KILLED),
  attack(167, 'sends SET in place of a method', `${set('progress')}\n${apply('argumentList: []')}`, KILLED, {
    control: 'inert',
  }),
  attack(168, 'sends GET', "wire.ask({ type: 'GET', path: ['progress'] })", KILLED, { control: 'inert' }),
  attack(169, 'sends ENDPOINT, which opens a second channel without a gate', "wire.ask({ type: 'ENDPOINT' })", KILLED, {
    control: 'inert',
  }),
  attack(
    170, 'sends an argument for a handler, without a value',
    apply("argumentList: [{ type: 'HANDLER', name: 'proxy', value: {} }]"), KILLED,
  ),
  attack(
    171, 'sends an argument for an unknown handler',
    apply("argumentList: [{ type: 'HANDLER', name: 'nope', value: 1 }]"),
    KILLED,
  ),
  attack(
    172, 'sends an argument that throws when it is deserialized',
    apply("argumentList: [{ type: 'HANDLER', name: 'throw', value: { isError: false, value: 1 } }]"), KILLED,
  ),
  attack(173, 'sends an argument list that is a number', apply('argumentList: 5'), KILLED),
  attack(174, 'sends an argument that is null', apply('argumentList: [null]'), KILLED),
  attack(
    175, 'sends an id that is a port',
    `
    if (wire.port === undefined) return void wire.ask({ id: {}, type: 'APPLY', path: ['progress'], argumentList: [] })
    const { port1 } = new wire.MessageChannel()
    wire.post({ id: port1, type: 'APPLY', path: ['progress'], argumentList: [] }, [port1])
  `,
    KILLED,
  ),
  attack(
    176, 'sends a path of 100,000 steps',
    "wire.ask({ type: 'APPLY', path: Array(100_000).fill('constructor'), argumentList: [] })",
    KILLED,
    { control: 'inert' },
  ),
  attack(
    177, 'passes a reply by proxy', "wire.send(['call', { id: wire.id, type: 'HANDLER', name: 'proxy', value: {} }])",
    KILLED, { control: 'none' },
  ),
  attack(
    178, 'sends an error with a forged prototype',
    `
    wire.post('[2,' + JSON.stringify(wire.id) + ',{"name":"Error","message":"x","__proto__":{"code":"HostClosed"}}]')
  `,
    KILLED, { control: 'none' },
  ),
  attack(
    179, 'sends replies twice, late and to no request',
    `
    const reply = (value) => ['call', { id: wire.id, type: 'RAW', value }]
    wire.send(reply('first'), reply('second'))
  `,
    KILLED, { control: 'none' },
  ),
  attack(180, 'sends RELEASE while calls are pending', "wire.ask({ type: 'RELEASE', path: [] })", KILLED, {
    control: 'inert',
  }),

  attack(
    277, 'sends packets that are not strings, and frames with a wrong length',
    `
    if (wire.port !== undefined) return void wire.post([1, wire.id, 'first'])
    wire.socket.write(Buffer.from([5, 0, 0, 0x80, 9, 0, 0, 0, 0x5b]))
  `,
    KILLED, { control: 'none' },
  ),
  attack(278, 'sends an empty packet', "wire.post('')", KILLED, { control: 'none' }),
  attack(
    279, 'sends a request on the channel for replies',
    "wire.send(['call', { id: 'x', type: 'APPLY', path: ['progress'], argumentList: [] }])",
    KILLED, { control: 'none' },
  ),
  attack(
    280, 'sends to a channel named __proto__',
    "wire.send(['__proto__', { id: 'x', type: 'APPLY', path: ['progress'], argumentList: [] }])",
    KILLED, { control: 'none' },
  ),
  attack(
    281, 'sends two requests with the same id',
    `
    const argumentList = [wire.raw(wire.callId), wire.raw('own')]
    const request = { id: 9001, type: 'APPLY', path: ['fs.list'], argumentList }
    wire.send(['broker', request], ['broker', request])
  `,
    KILLED, { control: 'none' },
  ),
  attack(
    306, 'sends a long string with its place on a prototype',
    `
    const request = [3, 9001, 'progress', [wire.callId, { a: null }], [[1, '__proto__', 'polluted']]]
    wire.postSeveral(JSON.stringify(request), 'x'.repeat(5_000))
  `,
    KILLED, { control: 'none' },
  ),
  attack(
    307, 'sends a long string whose place is taken',
    `
    const request = [3, 9001, 'progress', [wire.callId, 'taken'], [[1], ['length'], [{ toString: 1 }]]]
    wire.postSeveral(JSON.stringify(request), 'x', 'y', 'z')
  `,
    KILLED, { control: 'none' },
  ),
  attack(
    308, 'sends long strings without a place',
    `
    wire.postSeveral(JSON.stringify([3, 9001, 'progress', [wire.callId, 'x']]), 'x'.repeat(5_000))
  `,
    KILLED, { control: 'none' },
  ),
  attack(
    309, 'sends several strings with a wrong number or length',
    `
    if (wire.port !== undefined) return void wire.post(Object.assign([], { 0: '[]', length: 4_000_000_000 }))
    wire.socket.write(Buffer.from([8, 0, 0, 0x80, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]))
  `,
    KILLED, { control: 'none' },
  ),
  attack(
    282, 'sends an error that is too deep and too long',
    `
    let error = { name: 'Error', message: 'x' }
    for (let depth = 0; depth < 40; depth++) error = { name: 'Error', message: 'x', cause: error }
    wire.send(['call', { id: wire.id, type: 'HANDLER', name: 'throw', value: { isError: true, value: error } }])
  `,
    KILLED, { control: 'none' },
  ),
  attack(
    283, 'closes a channel in the middle of a frame',
    `
    if (wire.port !== undefined) return void wire.port.close()
    wire.socket.write(Buffer.from([64, 0, 0, 0, 0x5b]))
    wire.socket.end()
  `,
    [
      ['call', refused('CompartmentCrashed')], ['ended', refused('CompartmentCrashed')],
    ],
    { control: 'none' },
  ),
  attack(
    284, 'calls the broker without a call, for a finished call, and for an undeclared capability',
    `
    const codes = []
    const ask = (method, ...args) => new Promise((resolve) => {
      const id = 9001 + codes.length
      codes.push(id)
      const receive = (text) => {
        for (const message of wire.read(text)) {
          if (message.type !== undefined && message.id === id) resolve(message.type === 'RAW'
            ? { got: message.value } : message.value.value.code)
        }
      }
      if (wire.port !== undefined) wire.port.on('message', receive)
      else wire.socket.on('data', (chunk) => receive(chunk.subarray(4).toString()))
      wire.send(['broker', { id, type: 'APPLY', path: [method], argumentList: args.map(wire.raw) }])
    })
    const path = facts.outside + '/secret.txt'
    return [
      await ask('fs.read', 'call-0', path, 'text', null), await ask('fs.read', null, path, 'text', null),
      await ask('fs.read', wire.callId, path, 'text', null),
      await ask('net.fetch', wire.callId, 'http://127.0.0.1:' + facts.port, {}),
      await ask('shell.run', wire.callId, 'id', [], {}),
      await ask('env.get', wire.callId, 'CANARY'), await ask('state.read', wire.callId),
      await ask('interact', wire.callId, { kind: 'Ask', prompt: 'x' }),
      await ask('tools.call', wire.callId, 'run', {}),
      await ask('fs.read', wire.callId, { toString: path }, 'text', null),
    ]
  `,
    [
      [
        'call',
        returned([
          'CapabilityDenied', 'CapabilityDenied', 'CapabilityDenied', 'CapabilityDenied', 'CapabilityDenied',
          'EnvNameUndeclared', 'CapabilityDenied', 'CapabilityDenied', 'CapabilityDenied', 'InputInvalid',
        ]),
      ],
    ],
    { control: 'none' },
  ),
  attack(
    323, 'sends a message over the size limit',
    `
    if (wire.port !== undefined) return void wire.post('"' + 'x'.repeat(200_000) + '"')
    wire.socket.write(Buffer.from([0xff, 0xff, 0xff, 0x7f, 0x5b]))
  `,
    [
      ['call', refused('MessageTooLarge')], ['ended', refused('MessageTooLarge')],
    ],
    { limits: { messageBytes: 200_000, outputBytes: 100_000 }, control: 'none' },
  ),
  attack(
    324, 'opens more requests than allowed',
    `
    const list = (id) =>
      ({ id, type: 'APPLY', path: ['fs.list'], argumentList: [wire.raw(wire.callId), wire.raw('own')] })
    wire.send(...Array.from({ length: 17 }, (_, at) => ['broker', list(9001 + at)]))
  `,
    [
      ['call', refused('TooManyRequests')], ['ended', refused('TooManyRequests')],
    ],
    { limits: { outstandingRequests: 16 }, control: 'none' },
  ),
]
