import { shimModule, type ShimHost } from './host.ts'

const THREADS = [
  'BroadcastChannel', 'MessageChannel', 'MessagePort', 'Worker', 'markAsUncloneable', 'markAsUntransferable',
  'moveMessagePortToContext', 'postMessageToThread', 'receiveMessageOnPort', 'setEnvironmentData', 'getEnvironmentData',
]
const ENGINE = [
  'deserialize', 'getHeapSnapshot', 'getHeapStatistics', 'serialize', 'setFlagsFromString', 'writeHeapSnapshot',
]

/** `node:worker_threads` and `node:v8` for libraries that only name them: no thread, no port, nothing of the engine. */
export const threadModules = (host: ShimHost): Readonly<Record<'worker_threads' | 'v8', () => object>> => ({
  worker_threads: () => shimModule(host, 'worker_threads', {
    isMainThread: true, parentPort: null, workerData: null, threadId: 0, resourceLimits: Object.freeze({}),
  }, THREADS),
  v8: () => shimModule(host, 'v8', {}, ENGINE),
})
