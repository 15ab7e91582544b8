import { attacksOf, refused } from '../model/case.ts'

/** Expensive requests to the broker that the grant allows. */
const attack = attacksOf('O', { alone: true, control: 'none' })

export const brokerWork = [
  attack(350, 'edits a string that is slow to find', `
    await runtime.fs.write('own/out/a.txt', 'a'.repeat(2_000_000))
    const sought = 'a'.repeat(300) + 'b' + 'a'.repeat(500_000)
    return { edit: await attempt(() => runtime.fs.edit('own/out/a.txt', sought, 'x')),
      overlapping: await attempt(() => runtime.fs.edit('own/out/a.txt', 'a'.repeat(500_000), 'x')) }
  `, { edit: 'InputInvalid', overlapping: 'InputInvalid' }),
  attack(351, 'edits a file so that the result would be gigabytes', `
    await runtime.fs.write('own/out/a.txt', 'a'.repeat(7_000))
    return { edit: await attempt(() => runtime.fs.edit('own/out/a.txt', 'a', 'b'.repeat(1024 * 1024), { all: true })) }
  `, { edit: 'InputInvalid' }),
  attack(352, 'edits a hundred thousand places in one line', `
    await runtime.fs.write('own/out/a.txt', 'a'.repeat(99_000))
    return { places: (await runtime.fs.edit('own/out/a.txt', 'a', 'b', { all: true })).replacements }
  `, { places: 99_000 }),
  attack(353, 'sends long messages that are slow to check, one after the other', `
    const numbers = '1.2345678901234567890123456789012345678901234567890123456789,'.repeat(200_000) + '0'
    // A port queues everything that is posted. Another attack sends without end.
    for (let id = 1; wire.port === undefined || id <= 5; id++) {
      wire.post('[3,' + id + ',"update",[' + JSON.stringify(wire.callId) + ',[' + numbers + ']]]')
      if (wire.socket?.writableNeedDrain) await new Promise((drained) => wire.socket.once('drain', drained))
    }
  `, [['call', refused('ExecutionTimeout')], ['ended', refused('CompartmentKilled')]],
  // They get a quarter of the time. The rest is for other work of the host on a slow machine.
  { in: 'wire', deadlineMs: 2_000, busyShare: 0.7 }),
  attack(372, 'creates an unlimited number of files inside the grant', `
    const text = 'x'.repeat(1024 * 1024)
    let error = 'none'
    let files = 0
    for (; files < 40 && error === 'none'; files++) {
      await runtime.fs.write('own/out/' + files % 2 + '.txt', text).catch(({ code }) => void (error = code))
    }
    return { error, files: files > 20 ? { got: files } : files }
  `, { error: 'TooManyBytesWritten', files: 11 }, { limits: { writtenBytes: 10 * 1024 * 1024 } }),
  attack(373, 'sends an unlimited number of requests to a granted host', `
    const body = 'x'.repeat(1024 * 1024)
    let error = 'none'
    let requests = 0
    for (; requests < 40 && error === 'none'; requests++) {
      await runtime.net.fetch('http://localhost:' + facts.grantedPort + '/', { method: 'POST', body })
        .then((answer) => answer.text(), ({ code }) => void (error = code))
    }
    return { error, requests: requests > 20 ? { got: requests } : requests }
  `, { error: 'TooManyBytesSent', requests: 11 }, {
    limits: { sentBytes: 10.5 * 1024 * 1024 }, requires: { net: { hosts: ['localhost:$granted'] } },
  }),
  attack(376, 'sends many compressed bodies, each with the largest window', `
    const open = []
    for (let count = 0; count < 16; count++) {
      const { body } = await runtime.net.fetch('http://localhost:' + facts.grantedPort + '/packed')
      open.push(body[Symbol.asyncIterator]())
    }
    let pieces = 0
    for (const body of open) void body.next().then(() => pieces++, () => undefined)
    await new Promise((done) => setTimeout(done, 1_000))
    return { pieces: pieces <= 3 ? 'few' : { got: pieces } }
  `, { pieces: 'few' }, { requires: { net: { hosts: ['localhost:$granted'] } } }),
]
