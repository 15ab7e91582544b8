/** A stage of a workflow, while it is under way. */
export interface MachineStage {
  /** Of this run of the stage: another run has another. */
  readonly stageExecutionId: string
  readonly name: string
  /** From 1; higher when the stage is tried again. */
  readonly attempt: number
  /** Names of the tools the stage may use without asking. */
  readonly allowedTools: readonly string[]
}

/**
 * A workflow that a session is attached to. What its present stage lists is approved; for anything else a person grants the
 * one call, or it is refused. It is heard instead of the security mode, and can approve nothing that somebody else denies.
 */
export interface StateMachine {
  readonly id: string
  /** Where it stands now; undefined where no stage is under way, and then the mode decides. Contract: quick; a throw refuses the call. */
  stage(): MachineStage | undefined
}
