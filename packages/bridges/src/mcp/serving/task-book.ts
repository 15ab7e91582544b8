/** What the tasks of both eras have in common. */
export interface KeptTask {
  /** Cannot be guessed. */
  readonly id: string
  readonly ttlMs: number
  /** Whether it may leave before its time if another task needs its place. */
  readonly mayLeave: boolean
  /** Idempotent. Has no effect on a task that has ended. */
  cancel(): void
}

/** The tasks of one client. A task is cancelled and forgotten after its time. */
export class TaskBook<Task extends KeptTask> {
  readonly #maxTasks: number
  readonly #tasks = new Map<string, { readonly task: Task; readonly timer: NodeJS.Timeout }>()

  constructor(maxTasks: number) {
    this.#maxTasks = maxTasks
  }

  get size(): number {
    return this.#tasks.size
  }

  /** The oldest task that may leave makes room. False if there is none. */
  makeRoom(): boolean {
    if (this.#tasks.size < this.#maxTasks) return true
    const oldest = this.list().find(({ mayLeave }) => mayLeave)
    if (oldest) this.#forget(oldest)
    return oldest !== undefined
  }

  add(task: Task): Task {
    const timer = setTimeout(() => this.#forget(task), task.ttlMs).unref()
    this.#tasks.set(task.id, { task, timer })
    return task
  }

  find(id: string): Task | undefined {
    return this.#tasks.get(id)?.task
  }

  list(): readonly Task[] {
    return [...this.#tasks.values()].map(({ task }) => task)
  }

  /** Cancels and forgets all of them. */
  end(): void {
    for (const task of this.list()) this.#forget(task)
  }

  #forget(task: Task): void {
    clearTimeout(this.#tasks.get(task.id)?.timer)
    this.#tasks.delete(task.id)
    task.cancel()
  }
}
