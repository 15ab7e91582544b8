export type Ended = {
    /**
     * as a shell counts it: 128 + n after signal n
     */
    code: number;
    /**
     * the signal that this process received meanwhile
     */
    interruptedBy: NodeJS.Signals | undefined;
    /**
     * the end of what the child printed, where it was captured
     */
    output: string;
};
/**
 * @typedef {object} Ended
 * @property {number} code as a shell counts it: 128 + n after signal n
 * @property {NodeJS.Signals | undefined} interruptedBy the signal that this process received meanwhile
 * @property {string} output the end of what the child printed, where it was captured
 */
/**
 * Runs a command to its end. Signals sent to this process reach the child; this process never ends before it.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, capture?: boolean, onStart?: (pid: number) => void }} options
 *   capture: keep a copy of the output, which is shown on stderr all the same
 * @returns {Promise<Ended>} rejects only when the command could not be started
 */
export declare function runChild(command: string, args: readonly string[], { cwd, env, capture, onStart }: {
    cwd: string;
    env: NodeJS.ProcessEnv;
    capture?: boolean;
    onStart?: (pid: number) => void;
}): Promise<Ended>;
/**
 * @param {NodeJS.Signals | null} signal
 * @returns {number}
 */
export declare function exitCodeOf(signal: NodeJS.Signals | null): number;
