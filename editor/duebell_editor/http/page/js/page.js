// Starts the page that is open.

import "./reading.js"; // the first of all
import { startActions } from "./actions.js";
import { startTasks } from "./main.js";
import { startSchedules } from "./schedules.js";

const START = { index: startTasks, schedules: startSchedules, actions: startActions };

START[document.documentElement.dataset.page]();
