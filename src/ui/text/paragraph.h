#pragma once
#include "ui/text/terminal.h"
#include "ui/text/text.h"
