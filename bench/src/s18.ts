import { readFileSync } from 'node:fs'
import { guardedCall } from './sides/guarded-call.ts'
const steal = () => Number(readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/ +/)[8])
for (const audit of [false, true, false, true]) {
const run = await guardedCall({ name: 'n', placement: 'thread', tools: 1, audit }).start()
let next = 1
const go = async (ms: number) => { const end = performance.now() + ms; const lane = async () => { while (performance.now() < end) await run.run(next++) }; await Promise.all(Array.from({ length: 64 }, lane)) }
await go(2000)
const g = globalThis as any
g.pm = []
const n0 = next, s0 = steal()
await go(2500)
const x = g.pm.toSorted((a: number, b: number) => a - b), q = (f: number) => x[Math.floor(x.length * f)].toFixed(1)
console.log('audit', audit, next - n0, 'posts', x.length, 'p10', q(.1), 'p50', q(.5), 'p75', q(.75), 'p90', q(.9), 'p99', q(.99), 'mean', (x.reduce((a: number, b: number) => a + b, 0) / x.length).toFixed(1), 'steal', steal() - s0)
await run.stop()
}
