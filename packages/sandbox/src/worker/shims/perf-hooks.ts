import { shimModule, type ShimHost } from './host.ts'

const OTHERS = [
  'PerformanceObserver', 'createHistogram', 'eventLoopUtilization', 'monitorEventLoopDelay', 'timerify',
]

/** `node:perf_hooks`: the clock of the global `performance`. */
export const clockModule = (host: ShimHost): object =>
  shimModule(host, 'perf_hooks', { performance, constants: Object.freeze({}) }, OTHERS)
