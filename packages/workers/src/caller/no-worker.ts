import { BulkheadError, type ListedWorker, type WorkerDemand } from '@bulkhead/contract'

export const majorOf = (version: string): number => Number.parseInt(version, 10)

type Named = Pick<ListedWorker, 'id' | 'machine' | 'pid'>

const nameOf = ({ machine, pid }: Named): string => `The worker on ${machine} with process ${pid}`

/** Why a worker does not serve calls with this demand, as a sentence. undefined if it does. */
export function whyNotReady(worker: ListedWorker, { labels, workspace, major }: WorkerDemand): string | undefined {
  const lacking = labels.filter((label) => !worker.labels.includes(label))
  if (lacking.length > 0) return `${nameOf(worker)} does not have ${lacking.join(', ')}.`
  if (majorOf(worker.version) !== major) return `${nameOf(worker)} has version ${worker.version}; this host has ${major}.`
  if (workspace !== undefined && !worker.workspaces.includes(workspace)) {
    return `${nameOf(worker)} has no workspace "${workspace}".`
  }
  if (worker.state === 'draining') return `${nameOf(worker)} is draining.`
  if (worker.state === 'silent') return `${nameOf(worker)} has been silent for ${Math.round(worker.silentMs / 1000)} s.`
  return undefined
}

/** No worker took a call. */
export function noWorkerReady(tool: string, demand: WorkerDemand, workers: readonly ListedWorker[]): BulkheadError {
  const reasons = workers.map((worker) => whyNotReady(worker, demand) ?? `${nameOf(worker)} was busy until the deadline.`)
  const wanted = demand.workspace === undefined ? demand.labels.join(', ') : `${demand.labels.join(', ')} and the workspace "${demand.workspace}"`
  const found = reasons.length === 0 ? 'No worker uses the store.' : reasons.join(' ')
  return new BulkheadError('NoWorkerReady', `No worker with ${wanted} took the call of "${tool}". ${found}`, {
    data: { labels: demand.labels, ...(demand.workspace !== undefined && { workspace: demand.workspace }), reasons },
  })
}
