export type ProcessIdentity = {
    pid: number;
    born: string;
};
/**
 * A process by number and moment of birth, because numbers are used again after a restart.
 * @typedef {{ pid: number, born: string }} ProcessIdentity
 */
/**
 * @param {number} pid
 * @returns {ProcessIdentity}
 */
export declare function identityOf(pid: number): ProcessIdentity;
/**
 * @param {ProcessIdentity} identity
 * @returns {boolean} false only when that process has certainly ended
 */
export declare function isRunning({ pid, born }: ProcessIdentity): boolean;
